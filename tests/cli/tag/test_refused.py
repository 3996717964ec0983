"""Everything that can be wrong with rows, options and models of ``tag``: one line, and nothing left behind."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.tag.rows import SMALL, figures, lines
from tests.support.command_line import Done
from tests.support.tiny_encoder import write_tiny_encoder

TRAIN = ("train", "--model", "new", *SMALL)
PREDICT = ("predict", "--model", "ner", "--output", "out.jsonl")
OTHER = {"text": "青禾", "entities": [{"from": 0, "to": 2, "type": "品牌"}]}
REFUSED = {
    "unknown tagger": ((*TRAIN, "--train", "dev.jsonl", "--tagger", "lstn"), 2, ["unknown tagger 'lstn'", "lstm"]),
    "option out of range": ((*TRAIN, "--train", "dev.jsonl", "--set", "tagger.dropout=2"), 2, ["tagger.dropout must"]),
    "no training file": (TRAIN, 2, ["Missing option '--train'"]),
    "missing training file": ((*TRAIN, "--train", "nowhere.jsonl"), 3, ["nowhere.jsonl: no such file"]),
    "missing dev file": ((*TRAIN, "--train", "dev.jsonl", "--dev", "nowhere"), 3, ["nowhere: no such file"]),
    "bad row": ((*TRAIN, "--train", "bad.jsonl"), 3, ["bad.jsonl:1: an entity lies at [0, 9)"]),
    "plain text": ((*TRAIN, "--train", "plain.txt"), 3, ["plain.txt:1: plain text, want entities"]),
    "nothing marked": ((*TRAIN, "--train", "unmarked.jsonl"), 3, ["unmarked.jsonl: no row has a marked span"]),
    "labels of words without tokens": (
        (*TRAIN, "--train", "dev.jsonl", "--labels", "word"),
        3,
        ["--labels word wants rows with tokens and a tag each"],
    ),
    "no tagger to go on from": ((*TRAIN, "--train", "dev.jsonl", "--from", "m"), 4, ["m: no folder of a trained"]),
    "another tagger to go on from": (
        ("train", "--model", "new", "--train", "dev.jsonl", "--from", "ner", "--tagger", "encoder"),
        2,
        ["ner is a tagger lstm, not encoder"],
    ),
    "markup as plain text": ((*PREDICT, "--input", "markup.txt"), 3, ["markup.txt:1: this is XML or HTML"]),
    "unknown format": (
        (*PREDICT, "--input", "dev.jsonl", "--format", "docano"),
        2,
        ["unknown format 'docano'", "doccano"],
    ),
    "unknown encoding": ((*PREDICT, "--input", "dev.jsonl", "--encoding", "utf9"), 2, ["unknown encoding 'utf9'"]),
    "attention of another kind of file": (
        (*PREDICT, "--input", "dev.jsonl", "--attention", "a.png"),
        2,
        ["a.png: want a name that ends in .json or .svg"],
    ),
    "attention of many rows": (
        (*PREDICT, "--input", "dev.jsonl", "--attention", "a.svg"),
        3,
        ["dev.jsonl: --attention is for a file of one row"],
    ),
    "attention of another tagger": (
        (*PREDICT, "--input", "other.jsonl", "--attention", "a.svg"),
        2,
        ["a tagger lstm has no attention maps"],
    ),
    "model exists": (("train", "--model", "ner", *SMALL, "--train", "dev.jsonl"), 2, ["ner: exists already"]),
    "model below a file": (
        ("train", "--model", "dev.jsonl/m", *SMALL, "--train", "dev.jsonl"),
        2,
        ["cannot be written"],
    ),
    "no model": (
        ("predict", "--model", "m", "--input", "plain.txt", "--output", "o"),
        4,
        ["m: no folder of a trained"],
    ),
    "missing input": ((*PREDICT, "--input", "nowhere"), 3, ["nowhere: no such file"]),
    "empty input": ((*PREDICT, "--input", "empty.jsonl"), 3, ["empty.jsonl: the file is empty"]),
    "output is the input": ((*PREDICT, "--input", "out.jsonl"), 2, ["out.jsonl: would overwrite out.jsonl"]),
    "output is a folder": (
        ("predict", "--model", "ner", "--input", "dev.jsonl", "--output", "ner"),
        2,
        ["ner: is a folder"],
    ),
    "bad row in the middle": ((*PREDICT, "--input", "late.jsonl"), 3, ["late.jsonl:13: no text"]),
    "neither pred nor model": (("evaluate", "--gold", "dev.jsonl"), 2, ["want either --pred FILE or --model FOLDER"]),
    "both": (("evaluate", "--gold", "dev.jsonl", "--pred", "dev.jsonl", "--model", "ner"), 2, ["want either"]),
    "gold without labels": (("evaluate", "--gold", "plain.txt", "--model", "ner"), 3, ["plain.txt:1: plain text"]),
    "other rows": (
        ("evaluate", "--gold", "dev.jsonl", "--pred", "other.jsonl"),
        3,
        ["other.jsonl:1: its text is not that of dev.jsonl:1"],
    ),
    "fewer rows": (
        ("evaluate", "--gold", "twice.jsonl", "--pred", "other.jsonl"),
        3,
        ["other.jsonl: has 1 rows, twice.jsonl has 2"],
    ),
    "figures over gold": (
        ("evaluate", "--gold", "dev.jsonl", "--pred", "dev.jsonl", "--json", "dev.jsonl"),
        2,
        ["dev.jsonl: would overwrite dev.jsonl"],
    ),
    "no such colour": (("evaluate", "--gold", "dev.jsonl", "--model", "ner", "--color", "red"), 2, ["--color"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(models / "ner", tmp_path / "ner")
    dev = (data / "dev.jsonl").read_text(encoding="utf-8")
    for file, content in {
        "dev.jsonl": dev,
        "out.jsonl": dev,
        "late.jsonl": dev + lines({"tokens": []}),
        "other.jsonl": lines(OTHER),
        "twice.jsonl": lines(OTHER, OTHER),
        "bad.jsonl": lines({"text": "青禾", "entities": [{"from": 0, "to": 9}]}),
        "unmarked.jsonl": lines({"text": "青禾", "entities": []}),
        "plain.txt": "青禾\n",
        "markup.txt": "<?xml version='1.0'?>\n<a/>\n",
        "empty.jsonl": "\n",
    }.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments, code, pieces = REFUSED[name]
    done = run_here(*arguments)
    assert done.code == code, done.err
    assert [piece for piece in pieces if piece not in done.message] == []
    assert done.out == ""
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(figures(path) | values), encoding="utf-8")


def add_token(model: Path) -> None:
    path = model / "vocab.json"
    path.write_text(json.dumps([*json.loads(path.read_bytes()), "鑫"]), encoding="utf-8")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no weights": (lambda model: (model / "model.safetensors").unlink(), "ner: holds no weights (model.safetensors)"),
    "weights cut off": (lambda model: (model / "model.safetensors").write_bytes(b"\0"), "does not fit the network"),
    "no settings": (lambda model: (model / "tagging.json").unlink(), "ner: no folder of a trained tagger"),
    "no vocabulary": (lambda model: (model / "vocab.json").unlink(), "vocab.json: cannot be read"),
    "other version": (lambda model: change(model / "tagging.json", schema_version=0), "not of this version"),
    "damaged settings": (lambda model: change(model / "tagging.json", labels=5), "damaged, labels cannot be read"),
    "other labels": (
        lambda model: change(model / "tagger.json", labels=["公司", "品牌"]),
        "tags 公司, 品牌, want 公司, 地点",
    ),
    "more labels": (
        lambda model: [
            change(model / name, labels=["公司", "品牌", "地点"]) for name in ("tagger.json", "tagging.json")
        ],
        "does not fit the network",
    ),
    "other vocabulary": (add_token, "size mismatch for tokens.weight"),
    "another number of tokens": (lambda model: change(model / "tagging.json", n_tokens=5), "it was trained with 5"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_model_that_is_not_as_saved_is_refused(
    run_here: Callable[..., Done], data: Path, models: Path, tmp_path: Path, name: str
) -> None:
    shutil.copytree(models / "ner", tmp_path / "ner")
    damage, piece = DAMAGES[name]
    damage(tmp_path / "ner")
    done = run_here("predict", "--model", "ner", "--input", data / "dev.jsonl", "--output", "out.jsonl")
    assert done.code == 4, done.err
    assert piece in done.message
    assert [path.name for path in tmp_path.iterdir()] == ["ner"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (ValueError, 1)])
def test_training_that_breaks_off_leaves_no_folder(
    run_here: Callable[..., Done],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    code: int,
) -> None:
    def fit(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pipeline.entities.taggers.model.TaggerModel.fit", fit)
    assert run_here(*TRAIN, "--train", data / "dev.jsonl").code == code
    assert list(tmp_path.iterdir()) == []


# --- a pre-trained encoder

ENCODER = (
    *("train", "--train", "train.jsonl", "--model", "new", "--tagger", "bert", "--set", "workers=1"),
    *("--set", "tagger.window_tokens=64", "--set", "tagger.train_window_tokens=64", "--set", "tagger.title_tokens=0"),
    *("--set", "tagger.training.max_epochs=1"),
)


def test_a_tagger_on_an_encoder_needs_the_encoder_for_training_alone(
    run_here: Callable[..., Done], data: Path, tmp_path: Path
) -> None:
    shutil.copy(data / "train.jsonl", tmp_path)
    write_tiny_encoder(tmp_path / "encoder")
    done = run_here(*ENCODER, "--set", "tagger.encoder=encoder")
    assert done.code == 0, done.err
    shutil.rmtree(tmp_path / "encoder")
    predict = ("predict", "--model", "new", "--input", "train.jsonl", "--output", "out.jsonl")
    assert run_here(*predict).code == 0
    change(tmp_path / "new" / "tagging.json", n_tokens=7)
    assert re.search(r"vocabulary has \d+ tokens, it was trained with 7", run_here(*predict).message)


@pytest.mark.parametrize(
    ("damage", "piece"),
    [
        (shutil.rmtree, "encoder 'encoder': no such folder"),
        (lambda folder: (folder / "model.safetensors").unlink(), "encoder encoder: holds no weights"),
        (lambda folder: write_tiny_encoder(folder, n_rows=5), "its weights 5"),
    ],
)
def test_an_encoder_that_cannot_be_had_is_refused(
    run_here: Callable[..., Done],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], object],
    piece: str,
) -> None:
    monkeypatch.setattr("pipeline.nn.encoders.folders._hub_is_known", lambda: False)
    shutil.copy(data / "train.jsonl", tmp_path)
    damage(write_tiny_encoder(tmp_path / "encoder"))
    done = run_here(*ENCODER, "--set", "tagger.encoder=encoder")
    assert done.code == 4, done.err
    assert piece in done.message
    assert not (tmp_path / "new").exists()
