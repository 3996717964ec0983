"""``match train``, ``match predict``, ``match evaluate``: a planted signal end to end, and what is refused."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.support.before import without_seen
from tests.support.command_line import Cli, Done

THEMES = ("松果茶叶香气", "云杉汽车引擎", "银杏书籍油墨", "砚台石料雕刻")
SMALL = (
    *("--set", "relevance.training.max_epochs=6", "--set", "relevance.training.learning_rate=0.01"),
    *(
        "--set",
        "relevance.embedding_dim=12",
        "--set",
        "relevance.hidden_dim=8",
        "--set",
        "relevance.training.batch_size=16",
    ),
)


def pair_row(rng: random.Random, number: int) -> dict[str, object]:
    left = rng.randrange(4)
    together = rng.random() < 0.5
    right = left if together else (left + rng.randrange(1, 4)) % 4
    first, second = ("".join(rng.sample(THEMES[theme], 4)) for theme in (left, right))
    return {"id": f"00{number}", "text_a": f"{first}{number}", "text_b": f"{second}x{number}", "label": int(together)}


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows, and a matcher of labels (``labels``) and one of scores (``scores``)."""
    folder = tmp_path_factory.mktemp("match")
    rng = random.Random(5)
    rows = [pair_row(rng, number) for number in range(240)]
    (folder / "train.jsonl").write_text(lines(*rows[:200]), encoding="utf-8")
    (folder / "test.jsonl").write_text(lines(*rows[200:]), encoding="utf-8")
    scored = [{"a": row["text_a"], "b": row["text_b"], "score": 4.5 if row["label"] else 0.5} for row in rows[:120]]
    (folder / "scored.jsonl").write_text(lines(*scored), encoding="utf-8")
    with chdir(folder):
        train = ("match", "train", *SMALL)
        assert main([*train, "--data", "train.jsonl", "--matcher", "soft_align", "--out", "labels", "--seed", "3"]) == 0
        assert main([*train, "--data", "scored.jsonl", "--matcher", "malstm", "--out", "scores"]) == 0
    return folder


def test_a_planted_signal_is_learnt_and_predicted_alike(
    run_here: Callable[..., Done], models: Path, tmp_path: Path
) -> None:
    gold, model = models / "test.jsonl", models / "labels"
    done = run_here("match", "evaluate", "--data", gold, "--model", model, "--json", "figures.json")
    assert done.code == 0, done.err
    figures = json.loads((tmp_path / "figures.json").read_bytes())
    assert figures["auc"] > 0.9
    assert f"AUC       {figures['auc']:>8.4f}" in done.out
    done = run_here("match", "predict", "--model", model, "--input", gold, "--out", "found.jsonl.gz")
    assert (done.code, done.out) == (0, "found.jsonl.gz\n")
    done = run_here("match", "predict", "--model", model, "--input", gold, "--out", "-")
    found = [json.loads(line) for line in done.out.splitlines()]
    sources = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    assert [{key: row[key] for key in source} for row, source in zip(found, sources, strict=True)] == sources
    threshold = json.loads((model / "matching.json").read_bytes())["thresholds"]["f1"]
    assert all(row["predicted"] == int(row["match_score"] >= threshold) for row in found)
    hits = sum(row["predicted"] and row["label"] for row in found)
    assert figures["f1"] == 2 * hits / (sum(row["predicted"] for row in found) + figures["n_together"])


def test_the_folder_moves_and_is_the_same_again(run_here: Callable[..., Done], models: Path, tmp_path: Path) -> None:
    arguments = ("match", "train", *SMALL, "--data", models / "train.jsonl", "--out", "again", "--seed", "3")
    assert run_here(*arguments).code == 0  # the default matcher is soft_align
    shutil.copytree(models / "labels", tmp_path / "moved")
    for name in ("model.safetensors", "vocab.json", "matcher.json", "metrics.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "moved" / name).read_bytes()


def test_scores_come_back_in_the_units_of_the_labels(
    run_here: Callable[..., Done], models: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("id,query,doc\nNA,松果茶叶,松果香气\n", encoding="utf-8")
    done = run_here("match", "predict", "--model", models / "scores", "--input", "in.csv", "--out", "out.csv")
    assert done.code == 0, done.err
    [row] = csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    assert (row["id"], row["query"]) == ("NA", "松果茶叶")
    assert float(row["predicted"]) == pytest.approx(5 * float(row["match_score"]), abs=1e-5)
    done = run_here("match", "evaluate", "--data", models / "scored.jsonl", "--model", models / "scores")
    assert done.out.startswith("120 pairs, scores from 0 to 5\n")
    assert "Pearson" in done.out


def test_stopwords_are_kept_with_the_model(run_here: Callable[..., Done], models: Path, tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Ｘ\n", encoding="utf-8")
    (tmp_path / "in.jsonl").write_text(
        lines({"a": "松果x", "b": "云杉"}, {"a": "松果", "b": "云x杉"}), encoding="utf-8"
    )
    once = ("--set", "relevance.training.max_epochs=1", "--set", "relevance.stopwords=stop.txt")
    arguments = ("match", "train", *SMALL, *once, "--data", models / "train.jsonl", "--out", "m", "--matcher", "malstm")
    assert run_here(*arguments).code == 0
    (tmp_path / "stop.txt").unlink()
    done = run_here("match", "predict", "--model", "m", "--input", "in.jsonl", "--out", "-")
    first, second = (json.loads(line)["match_score"] for line in done.out.splitlines())
    assert first == pytest.approx(second)  # "x" alone is a token beside Chinese characters


TRAIN = ("match", "train", "--out", "new", *SMALL)
ONE_TEXT = lines(*({"a": "松果", "b": f"云杉{n}", "label": n % 2} for n in range(9)))
REFUSED = {
    "unknown matcher": ((*TRAIN, "--data", "test.jsonl", "--matcher", "malsm"), 2, "unknown matcher 'malsm'"),
    "option of another": (
        (*TRAIN, "--data", "test.jsonl", "--matcher", "malstm", "--set", "relevance.soft_align.cell=gru"),
        2,
        "options of soft_align",
    ),
    "no file": ((*TRAIN, "--data", "nowhere"), 3, "nowhere: no such file"),
    "no stopwords": (
        (*TRAIN, "--data", "test.jsonl", "--set", "relevance.stopwords=nowhere"),
        3,
        "nowhere: ",
    ),
    "bad row": ((*TRAIN, "--data", "bad.jsonl"), 3, "bad.jsonl:2: label is 'x'"),
    "bad range": ((*TRAIN, "--data", "test.jsonl", "--score-range", "5"), 2, "want LOW,HIGH"),
    "one label": ((*TRAIN, "--data", "same.jsonl", "--dev", "test.jsonl"), 3, "the training pairs all have one label"),
    "one group": ((*TRAIN, "--data", "group.jsonl"), 3, "of 9 pairs none can be kept back"),
    "folder exists": (("match", "train", "--out", "m", "--data", "test.jsonl"), 2, "m: exists already"),
    "no model": (("match", "evaluate", "--data", "test.jsonl", "--model", "n"), 4, "n: no folder of a trained matcher"),
    "damaged": (("match", "evaluate", "--data", "test.jsonl", "--model", "m"), 4, "vocab.json: is not as it was saved"),
    "other labels": (
        ("match", "evaluate", "--data", "half.jsonl", "--model", "good"),
        3,
        "half.jsonl:1: label 0.5 is neither 0 nor 1",
    ),
    "over the input": (
        ("match", "predict", "--model", "good", "--input", "test.jsonl", "--out", "test.jsonl"),
        2,
        "test.jsonl: would overwrite test.jsonl",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    run_here: Callable[..., Done], models: Path, tmp_path: Path, name: str
) -> None:
    for folder in ("m", "good"):
        shutil.copytree(models / "labels", tmp_path / folder)
    (tmp_path / "m" / "vocab.json").write_text("[]")
    shutil.copy(models / "test.jsonl", tmp_path)
    row = {"a": "松果", "b": "云杉"}
    for file, content in {
        "bad.jsonl": lines(row | {"label": 1}, row | {"label": "x"}),
        "same.jsonl": lines(row | {"label": 1}, row | {"label": 1}),
        "half.jsonl": lines(row | {"label": 0.5}),
        "group.jsonl": ONE_TEXT,
    }.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments, code, message = REFUSED[name]
    done = run_here(*arguments)
    assert done.code == code, done.err
    assert message in done.message
    assert done.out == ""
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_every_command_has_help_with_an_example(run_here: Callable[..., Done], command: str) -> None:
    done = run_here("match", command, "--help")
    assert done.code == 0
    assert f" match {command} " in done.out


def test_help_imports_nothing_that_takes_long(cli: Cli, tmp_path: Path) -> None:
    code = "import sys; from pipeline.cli import main; main(['match', 'train', '--help']); print(*sys.modules)"
    assert not {"torch", "numpy", "omegaconf", "sklearn"} & set(cli.run(cwd=tmp_path, code=code).out.split())


@pytest.mark.parametrize(("name", "given"), [("pairs.txt", ("--format", "tsv")), ("pairs.tsv", ())])
def test_columns_and_encoding_are_named_and_come_out_as_they_were(
    run_here: Callable[..., Done], models: Path, tmp_path: Path, name: str, given: tuple[str, ...]
) -> None:
    table = "左\t右\t分\n松果茶叶\t茶叶香气\t1\n松果茶叶\t云杉引擎\t0\n"
    (tmp_path / name).write_bytes(table.encode("utf-16-le"))
    how = (*given, "--encoding", "utf-16-le", "--columns", "text_a=左,text_b=右,label=分")
    done = run_here("match", "evaluate", "--model", models / "labels", "--data", name, *how)
    assert (done.code, "2 pairs, 1 of them together" in done.out) == (0, True), done.err
    done = run_here("match", "predict", "--model", models / "labels", "--input", name, "--out", "out", *how)
    assert done.code == 0, done.err
    first = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    keys = first[0].split("\t") if name.endswith(".tsv") else list(json.loads(first[0]))
    assert keys == ["左", "右", "分", "match_score", "predicted"]


def test_pairs_of_training_are_told_in_every_command(
    run_here: Callable[..., Done], models: Path, tmp_path: Path
) -> None:
    first, second = (json.loads(line) for line in (models / "train.jsonl").read_text("utf-8").splitlines()[:2])
    turned = {**first, "text_a": first["text_b"], "text_b": first["text_a"], "label": 1 - second["label"]}
    new = {"text_a": "没见过", "text_b": "也没见过", "label": second["label"]}
    (tmp_path / "in.jsonl").write_text(lines(turned, new), encoding="utf-8")
    told = "in.jsonl: 1 of 2 pairs have the text of a training pair; figures on such rows are too good"
    model = ("--model", models / "labels")
    assert run_here("match", "evaluate", "--data", "in.jsonl", *model).err.count(told) == 1
    assert run_here("match", "predict", "--input", "in.jsonl", "--out", "-", *model).err.count(told) == 1
    train = ("match", "train", *SMALL, "--set", "relevance.training.max_epochs=1", "--out", "m")
    assert run_here(*train, "--data", models / "train.jsonl", "--dev", "in.jsonl").err.count(told) == 1
    without_seen(models / "labels", tmp_path / "before", settings="matching.json")
    done = run_here("match", "evaluate", "--data", "in.jsonl", "--model", "before")
    assert (done.code, "training pair" in done.err) == (0, False)


def test_rows_of_json_in_a_file_named_as_a_table_keep_their_own_keys(
    run_here: Callable[..., Done], models: Path, tmp_path: Path
) -> None:
    pair = {"text_a": "松果茶叶", "text_b": "茶叶香气"}
    (tmp_path / "in.csv").write_text(lines({**pair, "id": 7}, pair), encoding="utf-8")
    predict = ("match", "predict", "--model", models / "labels", "--input", "in.csv", "--out", "-", "--format", "jsonl")
    done = run_here(*predict)
    assert done.code == 0, done.err
    keys = [set(json.loads(line)) for line in done.out.splitlines()]
    assert keys == [{*pair, "id", "match_score", "predicted"}, {*pair, "match_score", "predicted"}]
