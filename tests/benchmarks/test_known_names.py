"""The split of entity F1 by names known from training."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks.known_names import main, split
from pipeline.schema import Article, Emotion, Entity


def article(news_id: str, *names: str) -> Article:
    return Article(news_id, "、".join(names), "正文", tuple(Entity(name, Emotion.POS) for name in names))


def answer(*names: str) -> tuple[Entity, ...]:
    return tuple(Entity(name, Emotion.NEG) for name in names)


def test_one_known_name_puts_an_article_on_the_known_side() -> None:
    articles = [article("1", "青桥", "Lumo 2"), article("2", "石桥"), article("3", "lumo 2")]
    answers = {"1": answer("青桥"), "2": answer("石桥", "河")}
    with_known, without = split(articles, answers, {"lumo 2"})
    assert with_known.f1s == pytest.approx([2 / 3, 0.0])
    assert (with_known.n_gold, with_known.n_hits) == (3, 1)
    assert without.f1 == pytest.approx(2 / 3)
    assert (without.n_gold, without.n_hits) == (1, 1)


def test_an_empty_side_has_no_figure() -> None:
    with_known, without = split([article("1", "青桥")], {}, {"青桥"})
    assert with_known.f1 == 0.0
    assert math.isnan(without.f1)


def test_table_has_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rows(name: str, *found: tuple[str, str]) -> str:
        lines = [
            {
                "newsId": key,
                "coreEntityEmotions": [{"entity": entity, "emotion": "POS"}],
                "title": entity,
                "content": "。",
            }
            for key, entity in found
        ]
        path = tmp_path / name
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        return str(path)

    submission = tmp_path / "answers.txt"
    submission.write_text("b1\t青桥\tPOS\nb2\t别处\tNEG\n", encoding="utf-8")
    train = [rows("train.jsonl", ("a1", "青桥")), rows("more.jsonl", ("a2", "河口"))]
    gold = rows("gold.jsonl", ("b1", "青桥"), ("b2", "石桥"))
    main(["--submission", str(submission), "--gold", gold, "--train", train[0], "--train", train[1]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "| include one known from training | 1 | 1.000 | 1 | 1 |",
        "| are all new | 1 | 0.000 | 1 | 0 |",
    ]
