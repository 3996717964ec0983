"""``heads``: trained, saved, answering rows with and without labels, scored, shown."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pipeline.config import load_config
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.standalone.heads import train_saved
from pipeline.standalone.heads.rows import read_rows
from pipeline.standalone.heads.saved import load_head
from pipeline.standalone.heads.train_saved import HeadTraining, train_head
from pipeline.text import normalise
from tests.cli.heads.rows import QUICK, documents, lines, targets
from tests.support.before import without_seen
from tests.support.command_line import Done

Run = Callable[..., Done]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sure(row: dict[str, Any]) -> str:
    probabilities: dict[str, float] = row["probabilities"]
    assert abs(sum(probabilities.values()) - 1) < 1e-5
    return max(probabilities, key=probabilities.__getitem__)


# --- train


def test_a_head_is_trained_into_a_folder_with_all_it_needs(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(lines(documents(30)), encoding="utf-8")
    done = run_here("heads", "train", "--data", "rows.jsonl", "--head", "text_cnn", "--out", "m/cnn", *QUICK)
    assert (done.code, done.out) == (0, "m/cnn\n"), done.err
    assert re.search(r"dev: accuracy [01]\.\d{4}, macro F1 .*, 4 examples", done.err)
    assert sorted(path.name for path in (tmp_path / "m" / "cnn").iterdir()) == [
        *("head.json", "log.jsonl", "model.safetensors", "seen.json", "settings.json", "vocab.json")
    ]
    settings = json.loads((tmp_path / "m" / "cnn" / "settings.json").read_bytes())
    assert (settings["head"], settings["rows"], settings["classes"]) == ("text_cnn", "document", ["好评", "差评"])
    assert settings["data"][0]["rows"] == 30
    assert settings["options"]["training"]["max_epochs"] == 1
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["cnn"]


def test_the_seed_is_an_option_and_makes_the_same_bytes(run_here: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(lines(targets(12)), encoding="utf-8")
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        arguments = ("--data", "rows.jsonl", "--head", "td_lstm", "--out", name, "--seed", seed, *QUICK)
        assert run_here("heads", "train", *arguments).code == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    assert weights[0] == weights[1] != weights[2]
    assert [load_head(tmp_path / name).model.seed for name in "abc"] == [3, 3, 4]


def test_a_folder_that_is_there_is_replaced_on_demand_alone(run_here: Run, models: Path, tmp_path: Path) -> None:
    shutil.copytree(models / "documents", tmp_path / "m")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    data = models / "documents.jsonl"
    before = files(tmp_path)
    train = ("heads", "train", "--data", data, "--head", "text_cnn", *QUICK, "--out")
    refused = run_here(*train, "m")
    assert (refused.code, refused.message) == (2, "m: exists already")
    assert "--force" in refused.err
    refused = run_here(*train, "other", "--force")
    assert (refused.code, refused.message) == (2, "other: exists already")
    assert files(tmp_path) == before
    assert run_here(*train, "m", "--force").code == 0
    assert load_head(tmp_path / "m").model.name == "text_cnn"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "other"]


@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("step", ["fit_head", "save_head"])
def test_ctrl_c_leaves_nothing_half_written(
    run_here: Run, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, is_forced: bool
) -> None:
    if is_forced:
        shutil.copytree(models / "documents", tmp_path / "m")
    before = files(tmp_path)
    real = getattr(train_saved, step)

    def stop(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(train_saved, step, stop)
    arguments = ("--data", models / "documents.jsonl", "--head", "fast_text", "--out", "m", *QUICK)
    done = run_here("heads", "train", *arguments, *(["--force"] if is_forced else []))
    assert (done.code, done.out) == (130, "")
    assert files(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == (["m"] if is_forced else [])


@pytest.mark.parametrize(("n_epochs", "is_told"), [(1, True), (8, False)])
def test_a_head_that_is_no_better_than_one_answer_is_told(
    run_here: Run, tmp_path: Path, n_epochs: int, is_told: bool
) -> None:
    (tmp_path / "rows.jsonl").write_text(lines(documents(60)), encoding="utf-8")
    (tmp_path / "dev.jsonl").write_text(lines(documents(20, 5)), encoding="utf-8")
    rate = "0.02" if n_epochs > 1 else "1e-8"
    done = run_here(
        *("heads", "train", "--data", "rows.jsonl", "--dev", "dev.jsonl", "--head", "fast_text", "--out", "m"),
        *("--preset", "tiny", "--set", f"training.max_epochs={n_epochs}", "--set", f"training.learning_rate={rate}"),
        *("--set", "head.dropout=0", "--set", "training.batch_size=8"),
    )
    assert done.code == 0, done.err
    assert ("not better than always answering" in done.err) is is_told


# --- predict


def test_a_saved_head_answers_as_the_one_that_was_trained(tmp_path: Path, models: Path) -> None:
    config = load_config(preset="tiny", overrides=["training.max_epochs=1"])
    saved = train_head(HeadTraining(models / "targets.jsonl", "ian", config), tmp_path / "m")
    examples = [row.example for row in read_rows(models / "targets.jsonl", max_context_chars=100).rows]
    again = load_head(tmp_path / "m")
    assert (again.model.predict_proba(examples) == saved.model.predict_proba(examples)).all()
    assert (again.kind, again.most_frequent, again.dev) == (saved.kind, saved.most_frequent, saved.dev)
    assert again.model.config == config


def test_texts_without_labels_are_answered_in_their_order_with_all_their_keys(
    run_here: Run, models: Path, tmp_path: Path
) -> None:
    labelled = documents(20, 9)
    bare = [{key: value for key, value in row.items() if key != "label"} | {"note": ["a", None]} for row in labelled]
    (tmp_path / "bare.jsonl").write_text(lines(bare), encoding="utf-8")
    (tmp_path / "labelled.jsonl").write_text(lines([{**row, "label": "?"} for row in labelled]), encoding="utf-8")
    for name in ("bare", "labelled"):
        arguments = ("--model", models / "documents", "--input", f"{name}.jsonl", "--out", f"{name}.out")
        assert run_here("heads", "predict", *arguments).code == 0
    found = read_lines(tmp_path / "bare.out")
    assert [{key: row[key] for key in ("id", "text", "note")} for row in found] == bare
    assert [row["predicted"] for row in found] == [row["label"] for row in labelled] == [sure(row) for row in found]
    for row, other in zip(found, read_lines(tmp_path / "labelled.out"), strict=True):
        assert (row["probabilities"], other["label"]) == (other["probabilities"], "?")


def test_targets_are_answered_where_they_stand(run_here: Run, models: Path, tmp_path: Path) -> None:
    text = "云杉很好，青禾很差，云杉出色"
    rows: list[dict[str, Any]] = [
        {"id": 1, "text": text, "target": "云杉"},
        {"id": 2, "text": text, "target": "云杉", "from": 10, "to": 12},
        {"id": 3, "text": text, "targets": [{"target": "青禾", "key": "x"}, {"target": "云杉", "from": 10, "to": 12}]},
        {"id": 4, "text": text, "category": "口碑"},
        {"newsId": "5", "title": text, "content": "", "coreEntityEmotions": [{"entity": "云杉"}, {"entity": "松果"}]},
        {"newsId": "6", "title": text, "content": "", "coreEntityEmotions": []},
    ]
    (tmp_path / "rows.jsonl").write_text(lines(rows), encoding="utf-8")
    predict = ("heads", "predict", "--model", models / "targets", "--input", "rows.jsonl", "--out")
    assert run_here(*predict, "a.jsonl", "--attention").code == 0
    one, two, three, four, five, six = read_lines(tmp_path / "a.jsonl")
    assert one["attention"]["target"] == [0, 2]
    assert two["attention"]["target"] == three["targets"][1]["attention"]["target"] == [10, 12]
    assert two["probabilities"] == three["targets"][1]["probabilities"] != one["probabilities"]
    assert (three["targets"][0]["key"], "predicted" in three) == ("x", False)
    assert four["attention"]["text"].startswith("口碑\n")
    assert "target" not in five["coreEntityEmotions"][1]["attention"]
    assert six == rows[5]
    for answer in (one, two, *three["targets"], four, *five["coreEntityEmotions"]):
        assert answer["predicted"] == sure(answer)
        spans = answer["attention"]["spans"]
        assert sum(span["weight"] for span in spans) == pytest.approx(1, abs=1e-4)
        assert all(span["from"] < span["to"] <= len(answer["attention"]["text"]) for span in spans)
    assert run_here(*predict, "a.csv").code == 0
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["id"] or row["newsId"] for row in table] == ["1", "2", "3", "3", "4", "5", "5"]
    assert [row["target"] or row["category"] or row["entity"] for row in table[2:]] == [
        *("青禾", "云杉", "口碑", "云杉", "松果")
    ]
    assert float(table[0]["p_POS"]) == one["probabilities"]["POS"]
    assert list(table[0])[-3:] == ["predicted", "p_POS", "p_NEG"]


def test_standard_output_has_json_lines_and_nothing_else(run_here: Run, models: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(lines([{"text": "云杉很好\x1b[31m\u202e"}]), encoding="utf-8")
    done = run_here("heads", "predict", "--model", models / "documents", "--input", "rows.jsonl", "--out", "-")
    assert done.out.isascii()
    assert json.loads(done.out)["text"] == "云杉很好\x1b[31m\u202e"


def test_no_cell_of_a_table_is_a_formula(run_here: Run, models: Path, tmp_path: Path) -> None:
    rows = [{"text": "=1+1很差", "label": "好评", "@x": "+86"}]
    (tmp_path / "rows.jsonl").write_text(lines(rows), encoding="utf-8")
    model = ("--model", models / "documents")
    assert run_here("heads", "predict", *model, "--input", "rows.jsonl", "--out", "a.csv").code == 0
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").startswith("text,label,'@x,predicted,p_好评,p_差评\n'=1+1")
    assert run_here("heads", "evaluate", *model, "--data", "rows.jsonl", "--errors", "e.csv").code == 0
    assert (tmp_path / "e.csv").read_text(encoding="utf-8").splitlines()[1].endswith(",'=1+1很差")


# --- evaluate


def test_figures_by_hand(run_here: Run, models: Path, tmp_path: Path) -> None:
    rows = [{"text": "云杉很好", "label": "好评"}] * 3 + [{"text": "青禾糟糕", "label": "差评"}]
    wrong = {"text": "银杏出色", "label": "差评"}
    (tmp_path / "rows.jsonl").write_text(lines([*rows, wrong]), encoding="utf-8")
    evaluate = ("heads", "evaluate", "--model", models / "documents", "--data", "rows.jsonl")
    done = run_here(*evaluate, "--json", "a.json", "--errors", "e.csv")
    assert done.code == 0, done.err
    assert done.out.splitlines()[3].split() == ["fast_text", "0.8000", "0.7619"]
    assert "1 wrong answers" in done.err
    figures = json.loads((tmp_path / "a.json").read_bytes())
    assert (figures["rows"], figures["accuracy"], figures["macro_f1"]) == (5, 0.8, 0.761905)
    assert figures["confusion"] == {"labels": ["好评", "差评"], "gold_by_answer": [[3, 0], [1, 1]]}
    assert figures["classes"]["差评"] == {
        **{"hits": 1, "n_pred": 1, "n_gold": 2, "precision": 1.0, "recall": 0.5, "f1": 0.666667}
    }
    answer = figures["majority"]["answer"]
    assert figures["majority"]["accuracy"] == {"好评": 0.6, "差评": 0.4}[answer]
    assert f"majority ({answer})" in done.out
    with (tmp_path / "e.csv").open(encoding="utf-8", newline="") as file:
        (error,) = csv.DictReader(file)
    assert (error["row"], error["gold"], error["predicted"]) == ("rows.jsonl:5", "差评", "好评")
    assert json.loads(run_here(*evaluate, "--json", "-").out) == figures


# --- show


def test_attention_is_shown_in_text_json_and_svg(run_here: Run, models: Path, tmp_path: Path) -> None:
    rows = targets(4)
    for row in rows:
        del row["polarity"]
    (tmp_path / "rows.jsonl").write_text(lines(rows), encoding="utf-8")
    show = ("heads", "show", "--model", models / "targets", "--input", "rows.jsonl", "--rows", 2)
    done = run_here(*show, "--svg", "a.svg", "--json", "a.json")
    assert done.code == 0, done.err
    head, text, digits = done.out.splitlines()[:3]
    assert re.fullmatch(rf"rows\.jsonl:1: {rows[0]['target']}: (POS|NEG) \(0\.\d\d\)", head)
    assert (text, "9" in digits) == (normalise(str(rows[0]["text"])).text, True)
    found = json.loads((tmp_path / "a.json").read_bytes())
    assert [one["row"] for one in found] == ["rows.jsonl:1", "rows.jsonl:2"]
    assert found == json.loads(run_here(*show, "--json", "-").out)
    root = ElementTree.fromstring((tmp_path / "a.svg").read_text(encoding="utf-8"))
    drawn = "".join(span.text or "" for span in root.iter("{http://www.w3.org/2000/svg}tspan"))
    read = [normalise(str(row["text"])).text for row in rows]
    assert [text in drawn for text in read] == [True, True, False, False]
    assert "\x1b[48;5;" in run_here(*show, "--color", "always").out


def test_the_head_of_a_comparison_is_a_head_like_any_other(run_here: Run, models: Path, tmp_path: Path) -> None:
    data = models / "documents.jsonl"
    compare = ("compare", "heads", "--data", data, "--heads", "fast_text,text_cnn", "--seeds", 2, *QUICK)
    done = run_here(*compare, "--json", "a.json", "--save", "best")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "best").iterdir()) == ["fast_text", "text_cnn"]
    (kept,) = json.loads((tmp_path / "a.json").read_bytes())["comparisons"].values()
    for head in ("fast_text", "text_cnn"):
        dev = {row["seed"]: row["dev_accuracy"] for row in kept["results"] if row["head"] == head}
        saved = load_head(tmp_path / "best" / head)
        assert isinstance(saved.model, HeadClassifier)
        assert saved.model.seed == max(sorted(dev), key=dev.__getitem__)
        assert saved.dev.accuracy == dev[saved.model.seed]
    arguments = ("--model", "best/fast_text", "--input", data, "--out", "answers.jsonl")
    assert run_here("heads", "predict", *arguments).code == 0


# --- rows as other people have them


def test_rows_under_other_names_are_answered_as_they_are_learnt(run_here: Run, models: Path, tmp_path: Path) -> None:
    """The same rows, under our names and under usual ones: the same answers, and every key comes out as it was."""
    ours = targets(6, seed=3)
    theirs = [{"sentence": row["text"], "aspect": row["target"], "sentiment": 7, "score": 3} for row in ours]
    (tmp_path / "ours.jsonl").write_text(lines(ours), encoding="utf-8")
    (tmp_path / "theirs.jsonl").write_text(lines(theirs), encoding="utf-8")
    predict = ("heads", "predict", "--model", models / "targets", "--input")
    assert run_here(*predict, "ours.jsonl", "--out", "ours.out").code == 0
    done = run_here(*predict, "theirs.jsonl", "--out", "theirs.out")
    assert done.code == 0, done.err
    assert done.err.count("theirs.jsonl: columns read: sentence as text, aspect as target (--columns settles it)") == 1
    assert done.err.count("theirs.jsonl: not read beside the text: score\n") == 1  # a label is not looked at
    wanted, found = read_lines(tmp_path / "ours.out"), read_lines(tmp_path / "theirs.out")
    assert [list(row)[:4] for row in found] == [["sentence", "aspect", "sentiment", "score"]] * 6
    assert [row["probabilities"] for row in found] == [row["probabilities"] for row in wanted]
    shutil.copy(tmp_path / "theirs.jsonl", tmp_path / "first.jsonl")
    done = run_here("heads", "show", "--model", models / "targets", "--input", "first.jsonl", "--rows", 1)
    assert (done.code, "first.jsonl: not read beside the text: score\n" in done.err) == (0, True)  # of one row of six


def test_what_a_head_of_texts_does_not_read_is_told(run_here: Run, models: Path, tmp_path: Path) -> None:
    rows = [{"review": row["text"], "aspect": "云杉", "target": "云杉", "情感": "?"} for row in documents(4)]
    (tmp_path / "rows.jsonl").write_text(lines(rows), encoding="utf-8")
    done = run_here("heads", "predict", "--model", models / "documents", "--input", "rows.jsonl", "--out", "-")
    assert done.code == 0, done.err
    assert "rows.jsonl: columns read: review as text" in done.err
    assert "rows.jsonl: not read beside the text: aspect, target\n" in done.err


def test_columns_format_and_encoding_of_every_command_of_heads(run_here: Run, models: Path, tmp_path: Path) -> None:
    """A table with names that nobody could guess: read as told by train, evaluate, predict and show."""
    table = "正文甲|乙|丙\n".replace("|", ";") + "".join(
        f"{row['text']};{row['target']};{'1' if row['polarity'] == 'POS' else '2'}\n" for row in targets(24)
    )
    (tmp_path / "rows.dat").write_bytes(table.encode("gb18030"))
    how = ("--format", "csv", "--encoding", "gb18030", "--columns")
    labelled = (*how, "text=正文甲,target=乙,polarity=丙", "--label-map", "1=POS,2=NEG")
    done = run_here("heads", "train", "--data", "rows.dat", "--head", "ian", "--out", "m", *QUICK, *labelled)
    assert done.code == 0, done.err
    assert "labels: 1 -> POS (12), 2 -> NEG (12)" in done.err
    done = run_here("heads", "evaluate", "--model", "m", "--data", "rows.dat", *labelled)
    assert (done.code, "24 examples" in done.out) == (0, True), done.err
    unlabelled = (*how, "text=正文甲,target=乙")
    done = run_here("heads", "predict", "--model", "m", "--input", "rows.dat", "--out", "a.csv", *unlabelled)
    assert done.code == 0, done.err
    with (tmp_path / "a.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [row["乙"] for row in found] == [row["target"] for row in targets(24)]
    done = run_here("heads", "show", "--model", "m", "--input", "rows.dat", "--rows", 1, *unlabelled)
    assert (done.code, targets(1)[0]["target"] in done.out) == (0, True)
    done = run_here("heads", "predict", "--model", "m", "--input", "rows.dat", "--out", "b.csv", *how, "text=x")
    assert (done.code, done.message) == (3, "rows.dat:2: no column x (have: 正文甲, 乙, 丙)")


# --- rows of training


def test_rows_of_training_are_told_in_every_command_of_heads(run_here: Run, models: Path, tmp_path: Path) -> None:
    known = [*targets(3), {"text": "银杏从没这样好过", "target": "银杏", "polarity": "POS"}]  # the first three of 24
    (tmp_path / "rows.jsonl").write_text(lines(known), encoding="utf-8")
    told = "rows.jsonl: 3 of 4 rows have the text of a training row; figures on such rows are too good"
    model = ("--model", models / "targets")
    assert run_here("heads", "evaluate", *model, "--data", "rows.jsonl").err.count(told) == 1
    assert run_here("heads", "predict", *model, "--input", "rows.jsonl", "--out", "-").err.count(told) == 1
    train = ("heads", "train", "--data", models / "targets.jsonl", "--head", "ian", "--out", "m", *QUICK)
    assert run_here(*train, "--dev", "rows.jsonl").err.count(told) == 1
    without_seen(models / "targets", tmp_path / "before", settings="settings.json")
    done = run_here("heads", "evaluate", "--model", "before", "--data", "rows.jsonl")
    assert (done.code, "training row" in done.err) == (0, False)
