"""Articles made of others, and what is told of a training on them."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.memory import usage_of
from benchmarks.official_size import StageUse, Training, exponent, lines, watched_training
from benchmarks.recombined import recombined
from pipeline.data.folds import group_articles
from pipeline.data.read import iter_articles
from pipeline.schema import Article, Emotion, Entity
from tests.support.paths import ROOT

SAMPLE = ROOT / "data" / "sample" / "train.jsonl"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "train.jsonl"
    rows = recombined(list(iter_articles(SAMPLE, labelled=True)), [], 60, seed=1)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_articles_name_their_entities_and_are_no_near_duplicates(made: Path) -> None:
    articles = list(iter_articles(made, labelled=True))
    assert len({article.news_id for article in articles}) == 60
    named = [entity.name in article.content for article in articles for entity in article.entities or ()]
    assert sum(named) > 0.9 * len(named)
    groups = Counter(group_articles(articles).values())
    assert max(groups.values()) < 20


def test_equal_seeds_make_equal_articles_and_the_source_is_no_part_of_them() -> None:
    source = list(iter_articles(SAMPLE, labelled=True))
    one, two, other = (list(recombined(source, [], 8, seed=seed)) for seed in (1, 1, 2))
    assert one == two != other
    assert not {article.content for article in source} & {str(row["content"]) for row in one}


def test_articles_that_name_no_entity_are_refused() -> None:
    article = Article("a", "标题", "正文没有它。", (Entity("云杉", Emotion.POS),))
    with pytest.raises(ValueError, match="no article names"):
        list(recombined([article], [], 3, seed=1))


def test_a_training_is_watched_to_its_end(made: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    arguments = ["--preset", "fast", "--set", "rerank.n_estimators=5", "--set", "n_folds=2", "--set", "workers=1"]
    found = watched_training(made, 60, models, [*arguments, "--set", "sentiment.members=[tfidf]"])
    assert (found.code, list(found.stages)) == (0, ["reading", "rerank", "sentiment"])
    total = found.stages.values()
    assert sum(use.cpu_minutes for use in total) > 0
    assert max(use.peak_gib for use in total) > 0.05
    assert found.figures["out_of_fold"]["n_articles"] == 60
    assert found.peak_run_mib >= found.run_mib > 0
    assert any("| 60 | rerank |" in line for line in lines([found]))


def test_the_exponent_is_that_of_a_power() -> None:
    less, more = (
        Training(n, {"rerank": StageUse(cpu_minutes=3.0 * n**1.2)}, 1.0, 1.0, 1.0, {"out_of_fold": None})
        for n in (1000, 8000)
    )
    assert exponent(less, more, "rerank") == pytest.approx(1.2)
    assert "| 8,000 | rerank |" in lines([less, more])[4]
    assert lines([less, more])[4].endswith("| 1.20 |")


def test_usage_counts_this_process() -> None:
    block = bytearray(30 * 2**20)
    used = usage_of(os.getpgrp())
    assert used.own_memory > len(block)
    assert used.cpu_s > 0
