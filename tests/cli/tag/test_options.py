"""``tag``: words with one label each, confidence, going on from a model, partial scores, what is told of rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.tag.rows import SMALL, figures, lines
from tests.support.command_line import Done

Run = Callable[..., Done]
OTHER = {"text": "青禾", "entities": [{"from": 0, "to": 2, "type": "品牌"}]}
QUICK = ("--set", "workers=1", "--set", "tagger.training.max_epochs=1")


def rows_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- words


def test_rows_with_a_label_a_word_train_a_tagger_of_words_unless_another_is_named(
    run_here: Run, data: Path, tmp_path: Path
) -> None:
    train = ("train", "--train", data / "pos_dev.jsonl", *QUICK)
    done = run_here(*train, "--model", "words")
    assert "tagger: lstm, a label a word" in done.err, done.err
    assert figures(tmp_path / "words" / "tagger.json")["words"] is True
    done = run_here(*train, "--model", "spans", "--labels", "span", "--tagger", "lstm")
    assert "a label a word" not in done.err
    assert run_here(*train, "--model", "forced", "--labels", "word", "--tagger", "bert").code == 2


def test_words_are_scored_beside_baselines_that_need_no_network(
    run_here: Run, data: Path, models: Path, tmp_path: Path
) -> None:
    gold = [{"tokens": ["青云", "访问", "7", "次"], "tags": ["NR", "NN", "CD", "M"]}]
    (tmp_path / "gold.jsonl").write_text(lines(*gold), encoding="utf-8")
    done = run_here("evaluate", "--gold", "gold.jsonl", "--model", models / "pos", "--json", "a.json")
    tags = [tag for row in rows_of(data / "pos_train.jsonl") for tag in row["tags"]]  # type: ignore[attr-defined]
    majority = min(set(tags), key=lambda tag: (-tags.count(tag), tag))
    # Each tag occurs once a row: "CD" is the first in order. 青云 gets it wrongly, 7 rightly; 访问 is VV in training.
    assert majority == "CD"
    assert figures(tmp_path / "a.json")["baseline"] == {"majority": 0.25, "most_frequent_tag": 0.5}
    assert "baseline     0.5000 (the commonest tag of each word)" in done.out


def test_text_is_cut_into_words_for_a_tagger_of_words(run_here: Run, models: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("砚台镇进驻 9次\n", encoding="utf-8")
    done = run_here("predict", "--model", models / "pos", "--input", "in.txt", "--output", "out.jsonl")
    assert done.code == 0, done.err
    (row,) = rows_of(tmp_path / "out.jsonl")
    assert "".join(row["tokens"]) == "砚台镇进驻9次"  # type: ignore[arg-type]
    assert len(row["tags"]) == len(row["probs"]) == len(row["tokens"])  # type: ignore[arg-type]


# --- confidence


def test_every_span_has_its_probability(run_here: Run, models: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(lines({"text": "今天青禾科技访问砚台镇。"}), encoding="utf-8")
    (tmp_path / "in.csv").write_text("text\n今天青禾科技访问砚台镇。\n", encoding="utf-8")
    tokens = {"tokens": list("今天青禾科技访问"), "tags": ["O"] * 8}
    (tmp_path / "tokens.jsonl").write_text(lines(tokens), encoding="utf-8")
    for name, output in (("in.jsonl", "a.jsonl"), ("in.csv", "a.csv"), ("tokens.jsonl", "b.jsonl")):
        assert run_here("predict", "--model", models / "ner", "--input", name, "--output", output).code == 0
    (row,) = rows_of(tmp_path / "a.jsonl")
    assert all(0.5 < entity["prob"] <= 1 for entity in row["entities"])  # type: ignore[attr-defined]
    assert '""prob"": ' in (tmp_path / "a.csv").read_text(encoding="utf-8")
    (row,) = rows_of(tmp_path / "b.jsonl")
    assert [prob is None for prob in row["probs"]] == [tag == "O" for tag in row["tags"]]  # type: ignore[attr-defined]


# --- going on


def test_a_model_is_gone_on_from_with_a_new_type(run_here: Run, models: Path, tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text(lines(OTHER, OTHER), encoding="utf-8")
    done = run_here("train", "--train", "more.jsonl", "--from", models / "ner", "--model", "new", *QUICK)
    assert done.code == 0, done.err
    assert "the rows mark no 公司, 地点, which the model knows: it learns to find none" in done.err
    settings = figures(tmp_path / "new" / "tagging.json")
    assert settings["labels"] == ["公司", "品牌", "地点"]
    assert (tmp_path / "new" / "vocab.json").read_bytes() == (models / "ner" / "vocab.json").read_bytes()
    assert len(figures(tmp_path / "new" / "seen.json")) == len(figures(models / "ner" / "seen.json")) + 1


def test_the_epoch_with_the_best_figure_on_dev_is_kept(run_here: Run, data: Path, tmp_path: Path) -> None:
    files = ("--train", data / "train.jsonl", "--dev", data / "dev.jsonl")
    done = run_here("train", *files, "--model", "new", *SMALL, "--set", "tagger.training.patience=9")
    assert done.code == 0, done.err
    log = rows_of(tmp_path / "new" / "log.jsonl")
    best = max(row["figure"] for row in log)  # type: ignore[type-var]
    micro = figures(tmp_path / "new" / "metrics.json")["dev"]["micro"]  # type: ignore[index]
    assert micro["f1"] == pytest.approx(best, abs=1e-6)
    evaluate = ("evaluate", "--gold", data / "dev.jsonl", "--model", "new", "--json", "a.json")
    assert run_here(*evaluate).code == 0
    assert figures(tmp_path / "a.json")["micro"] == micro


# --- what is told


def test_types_of_gold_that_the_model_does_not_know_are_missed_and_told(
    run_here: Run, data: Path, models: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.jsonl").write_text(lines(OTHER), encoding="utf-8")
    done = run_here("evaluate", "--gold", "other.jsonl", "--model", models / "ner", "--json", "a.json")
    assert done.code == 0, done.err
    assert "the model tags 公司, 地点; other.jsonl has also 品牌: counted as missed" in done.err
    assert figures(tmp_path / "a.json")["types"]["品牌"]["recall"] == 0  # type: ignore[index]
    done = run_here("train", "--train", data / "dev.jsonl", "--dev", "other.jsonl", "--model", "new", *SMALL, *QUICK)
    assert "other.jsonl has also 品牌: counted as missed" in done.err


def test_rows_of_training_are_told_in_every_command(run_here: Run, data: Path, models: Path, tmp_path: Path) -> None:
    text = rows_of(data / "train.jsonl")[0]["text"]
    (tmp_path / "in.jsonl").write_text(lines({"text": text, "entities": []}, {"text": "没见过"}), encoding="utf-8")
    told = "in.jsonl: 1 of 2 rows have the text of a training row; figures on such rows are too good"
    done = run_here("predict", "--model", models / "ner", "--input", "in.jsonl", "--output", "out.jsonl")
    assert told in done.err
    (tmp_path / "in.jsonl").write_text(lines(*({"text": t, "entities": []} for t in (text, "新"))), encoding="utf-8")
    assert told in run_here("evaluate", "--gold", "in.jsonl", "--model", models / "ner").err
    train = ("train", "--train", data / "dev.jsonl", "--dev", data / "dev.jsonl", "--model", "new", *SMALL, *QUICK)
    assert run_here(*train).err.count("dev.jsonl: 12 of 12 rows have the text of a training row") == 1
    shutil.copytree(models / "ner", tmp_path / "before")
    (tmp_path / "before" / "seen.json").unlink()
    assert "rows have the text" not in run_here("evaluate", "--gold", "in.jsonl", "--model", "before").err


def test_half_right_spans_have_figures_of_their_own(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(lines(OTHER), encoding="utf-8")
    (tmp_path / "pred.jsonl").write_text(lines({"text": "青禾", "entities": [{"from": 0, "to": 1, "type": "品牌"}]}))
    done = run_here("evaluate", "--gold", "gold.jsonl", "--pred", "pred.jsonl", "--json", "a.json")
    found = figures(tmp_path / "a.json")["overlap"]
    assert [found[name]["f1"] for name in ("strict", "exact", "partial", "type")] == [0, 0, 0.5, 1]  # type: ignore[index]
    assert "partial                      0.5000  0.5000  0.5000  half a point for a span that overlaps" in done.out


# --- columns and attention


def test_columns_are_tagged_and_written_as_columns(run_here: Run, models: Path, tmp_path: Path) -> None:
    text = "".join(f"{char} O\n" for char in "今天青禾科技访问") + "\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    done = run_here("predict", "--model", models / "ner", "--input", "in.txt", "--output", "out.txt")
    assert done.code == 0, done.err
    written = (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split(" ")[0] for line in written[:-1]] == list("今天青禾科技访问")
    assert "青 B-公司" in written


def test_attention_maps_of_a_row(run_here: Run, data: Path, tmp_path: Path) -> None:
    options = ("--tagger", "encoder", "--set", "tagger.d_model=16", "--set", "tagger.n_layers=2")
    sizes = ("--set", "tagger.n_heads=2", "--set", "tagger.feed_forward_dim=16")
    assert run_here("train", "--train", data / "dev.jsonl", "--model", "m", *options, *sizes, *QUICK).code == 0
    (tmp_path / "in.txt").write_text("今天好。\n", encoding="utf-8")
    for name in ("a.json", "a.svg"):
        predict = ("predict", "--model", "m", "--input", "in.txt", "--output", f"{name}.jsonl")
        assert run_here(*predict, "--attention", name).code == 0
    maps = figures(tmp_path / "a.json")
    assert maps["tokens"] == ["[CLS]", "今", "天", "好", "。", "[SEP]"]
    attention = maps["attention"]
    assert (len(attention), len(attention[0]), len(attention[0][0])) == (2, 2, 6)  # type: ignore[arg-type, index]
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg.count("layer 2, head 2") == 1
    assert svg.startswith("<svg")


# --- rows as other people have them


def test_keys_and_types_of_other_names(run_here: Run, data: Path, models: Path, tmp_path: Path) -> None:
    """The training rows under other names and types, mapped back: a model of our types, and every span found again."""
    rows = rows_of(data / "dev.jsonl")
    theirs = [
        {"raw": row["text"], "marks": [{**mark, "type": f"x{mark['type']}"} for mark in row["entities"]]}  # type: ignore[attr-defined]
        for row in rows
    ]
    (tmp_path / "rows.jsonl").write_text(lines(*theirs), encoding="utf-8")
    columns = ("--columns", "text=raw,entities=marks")
    evaluate = ("evaluate", "--model", models / "ner", "--json", "a.json", *columns, "--gold", "rows.jsonl")
    done = run_here(*evaluate, "--label-map", "x公司=公司,x地点=skip")
    assert done.code == 0, done.err
    assert "rows.jsonl: types: x公司 -> 公司 (12), x地点 left out (12)" in done.err
    assert list(figures(tmp_path / "a.json")["types"]) == ["公司", "地点"]  # type: ignore[call-overload]
    assert run_here(*evaluate, "--label-map", "x公司=").message.startswith("--label-map x公司=: want another name")
    train = ("train", "--train", "rows.jsonl", "--tagger", "lstm", *QUICK, *columns, "--model")
    assert run_here(*train, "m", "--label-map", "x公司=名,x地点=名").code == 0
    assert figures(tmp_path / "m" / "tagging.json")["labels"] == ["名"]
    predict = ("predict", "--model", models / "ner", "--input", "rows.jsonl", "--output", "out.jsonl")
    assert run_here(*predict, *columns).code == 0
    assert [row["text"] for row in rows_of(tmp_path / "out.jsonl")] == [row["text"] for row in rows]
    done = run_here(*predict, "--columns", "text=absent")
    assert (done.code, "rows.jsonl:1: no column absent (have: raw, marks)" in done.message) == (3, True)


def test_columns_of_a_table_and_types_of_words(run_here: Run, models: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text('句,标\n青禾,"[{""start"": 0, ""end"": 2, ""labels"": [""公司""]}]"\n', "utf-8")
    columns = ("--columns", "text=句,label=标")
    done = run_here("evaluate", "--gold", "rows.txt", "--model", models / "ner", "--json", "a.json", *columns)
    assert done.code == 0, done.err
    assert figures(tmp_path / "a.json")["types"]["公司"]["n_gold"] == 1  # type: ignore[index]
    (tmp_path / "pos.jsonl").write_text(lines({"words": ["青禾", "7"], "pos": ["nr", "m"]}), encoding="utf-8")
    how = ("--columns", "tokens=words,tags=pos", "--label-map", "nr=NR,m=CD")
    done = run_here("evaluate", "--gold", "pos.jsonl", "--model", models / "pos", "--json", "b.json", *how)
    assert done.code == 0, done.err
    assert {"CD", "NR"} <= set(figures(tmp_path / "b.json")["types"])  # type: ignore[call-overload]
    assert not {"nr", "m"} & set(figures(tmp_path / "b.json")["types"])  # type: ignore[call-overload]
