"""``heads``: what is wrong is told in one line, and nothing is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.heads.rows import QUICK, documents, lines
from tests.support.command_line import Cli, Done

TRAIN = ("train", "--out", "new", *QUICK)
PREDICT = ("predict", "--model", "targets", "--out", "o.jsonl")
TEXT = ("predict", "--model", "documents", "--out", "o.jsonl")
REFUSED: dict[str, tuple[tuple[object, ...], int, str]] = {
    "unknown head": ((*TRAIN, "--data", "rows.jsonl", "--head", "iam"), 2, "unknown head 'iam' (have: "),
    "missing data": ((*TRAIN, "--data", "nowhere", "--head", "ian"), 3, "nowhere: no such file"),
    "missing dev": ((*TRAIN, "--data", "rows.jsonl", "--dev", "no", "--head", "ian"), 3, "no: no such file"),
    "head that needs targets": (
        (*TRAIN, "--data", "rows.jsonl", "--head", "ian"),
        2,
        "rows.jsonl: rows of texts and labels name no target, which ian must have",
    ),
    "bad row": ((*TRAIN, "--data", "bad.jsonl", "--head", "fast_text"), 3, "bad.jsonl:2: label is '', want text"),
    "one class": ((*TRAIN, "--data", "same.jsonl", "--head", "fast_text"), 3, "same.jsonl: every training row is 好"),
    "dev of another form": (
        (*TRAIN, "--data", "rows.jsonl", "--dev", "target.jsonl", "--head", "fast_text"),
        3,
        "rows.jsonl holds document rows, target.jsonl target rows",
    ),
    "folder below a file": (
        ("train", "--out", "rows.jsonl/m", *QUICK, "--data", "rows.jsonl", "--head", "fast_text"),
        2,
        "rows.jsonl/m: cannot be written",
    ),
    "no model": (
        ("predict", "--model", "m", "--input", "rows.jsonl", "--out", "o"),
        4,
        "m: no folder of a trained head",
    ),
    "missing input": ((*PREDICT, "--input", "nowhere"), 3, "nowhere: no such file"),
    "empty input": ((*PREDICT, "--input", "empty.jsonl"), 3, "empty.jsonl: the file is empty"),
    "text for a target head": (
        (*PREDICT, "--input", "late.jsonl"),
        3,
        "late.jsonl:2: want target, targets or category",
    ),
    "target not in its text": ((*PREDICT, "--input", "absent.jsonl"), 3, "absent.jsonl:1: the target '青禾' is not in"),
    "article without entities": ((*PREDICT, "--input", "article.jsonl"), 3, "article.jsonl:1: no coreEntityEmotions"),
    "entity without name": ((*PREDICT, "--input", "nameless.jsonl"), 3, "nameless.jsonl:1: coreEntityEmotions has"),
    "no text": ((*TEXT, "--input", "article.jsonl"), 3, "article.jsonl:1: no text"),
    "no JSON": ((*TEXT, "--input", "plain.txt"), 3, "plain.txt:1: "),
    "output is the input": (
        ("predict", "--model", "documents", "--out", "rows.jsonl", "--input", "rows.jsonl"),
        2,
        "rows.jsonl: would overwrite rows.jsonl",
    ),
    "output is a folder": (
        ("predict", "--model", "documents", "--out", "targets", "--input", "rows.jsonl"),
        2,
        "targets: is a folder",
    ),
    "attention of a head without": (
        (*TEXT, "--input", "rows.jsonl", "--attention"),
        2,
        "head fast_text has no attention",
    ),
    "show without attention": (
        ("show", "--model", "documents", "--input", "rows.jsonl"),
        2,
        "head fast_text has no attention",
    ),
    "data of another form": (
        ("evaluate", "--model", "documents", "--data", "target.jsonl"),
        3,
        "target.jsonl: holds target rows, the head was trained on document rows",
    ),
    "data without labels": (
        ("evaluate", "--model", "documents", "--data", "plain.jsonl"),
        3,
        "plain.jsonl:1: want label",
    ),
    "unknown label": (
        ("evaluate", "--model", "documents", "--data", "other.jsonl"),
        4,
        "the head answers 好评, 差评; other.jsonl has also 中评",
    ),
    "figures over the data": (
        ("evaluate", "--model", "documents", "--data", "rows.jsonl", "--errors", "rows.jsonl"),
        2,
        "rows.jsonl: would overwrite",
    ),
}


def state(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    run_here: Callable[..., Done], models: Path, tmp_path: Path, name: str
) -> None:
    for model in ("documents", "targets"):
        shutil.copytree(models / model, tmp_path / model)
    document, article = {"text": "云杉", "label": "好"}, {"newsId": "1", "title": "云杉", "content": "云杉"}
    target = {"text": "云杉很好", "target": "云杉", "polarity": "POS"}
    for file, rows in {
        "rows.jsonl": documents(8),
        "bad.jsonl": [document, {"text": "云杉", "label": ""}],
        "same.jsonl": [document, document],
        "target.jsonl": [target],
        "late.jsonl": [target, {"text": "云杉"}],
        "absent.jsonl": [{**target, "target": "青禾"}],
        "article.jsonl": [article],
        "nameless.jsonl": [{**article, "coreEntityEmotions": ["云杉"]}],
        "plain.jsonl": [{"text": "云杉"}],
        "other.jsonl": [{"text": "云杉", "label": "中评"}],
        "empty.jsonl": [],
    }.items():
        (tmp_path / file).write_text(lines(rows), encoding="utf-8")
    (tmp_path / "plain.txt").write_text("云杉很好\n", encoding="utf-8")
    before = state(tmp_path)
    arguments, code, message = REFUSED[name]
    done = run_here("heads", *arguments)
    assert done.code == code, done.err
    assert message in done.message
    assert done.out == ""
    assert state(tmp_path) == before


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_bytes()) | values), encoding="utf-8")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no weights": (lambda model: (model / "model.safetensors").unlink(), "m/model.safetensors: missing"),
    "weights cut off": (lambda model: (model / "model.safetensors").write_bytes(b"\0"), "model.safetensors: changed"),
    "other vocabulary": (lambda model: (model / "vocab.json").write_text("[]"), "m/vocab.json: changed since"),
    "no settings": (lambda model: (model / "settings.json").unlink(), "m: no folder of a trained head"),
    "cut settings": (lambda model: (model / "settings.json").write_text("{"), "settings.json: not valid JSON"),
    "other version": (lambda model: change(model / "settings.json", schema_version=0), "not of this version"),
    "damaged classes": (lambda model: change(model / "settings.json", classes=5), "damaged, classes cannot be read"),
    "other classes": (lambda model: change(model / "settings.json", classes=["a", "b"]), "head.json: classes"),
    "unknown head": (lambda model: change(model / "settings.json", head="x"), "does not fit this version"),
    "unknown rows": (lambda model: change(model / "settings.json", rows="x"), "does not fit this version"),
    "no dev figures": (lambda model: change(model / "settings.json", dev={}), "does not fit this version"),
    "unknown option": (lambda model: change(model / "settings.json", options={"x": 1}), "does not fit this version"),
    "file outside": (lambda model: change(model / "settings.json", files={"../x": "0"}), "lies outside the folder"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder_is_refused_by_every_command(
    run_here: Callable[..., Done], models: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(models / "documents", tmp_path / "m")
    damage, message = DAMAGES[name]
    damage(tmp_path / "m")
    data = models / "documents.jsonl"
    for arguments in (
        ("predict", "--model", "m", "--input", data, "--out", "o.jsonl"),
        ("evaluate", "--model", "m", "--data", data),
    ):
        done = run_here("heads", *arguments)
        assert (done.code, done.out) == (4, "")
        assert message in done.message
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_help_has_examples_and_imports_nothing_that_takes_long(cli: Cli, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pipeline.cli import main\n"
        "for name in ('train', 'predict', 'evaluate', 'show'):\n"
        "    main(['heads', name, '--help'])\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = cli.run(cwd=tmp_path, code=code)
    assert done.code == 0
    assert not {"torch", "numpy", "pandas", "sklearn", "transformers", "omegaconf"} & set(done.err.split())
    for name in ("train", "predict", "evaluate", "show"):
        assert f"Example: python run.py heads {name} --" in done.out
