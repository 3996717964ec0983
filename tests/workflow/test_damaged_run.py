"""A run folder whose files were changed and whose checksums were mended: one line says which file is amiss."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from pipeline.artifacts import RunFolder, packed
from pipeline.emotions.sentiment.members import Majority
from pipeline.errors import ArtifactError
from pipeline.workflow.predict import Predictor
from tests.support.command_line import TinyRun


def change(name: str, alter: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Alter the value of a JSON file; what ``alter`` returns, if anything, takes its place."""

    def damage(run: Path) -> None:
        content = json.loads((run / name).read_text(encoding="utf-8"))
        changed = alter(content)
        (run / name).write_text(json.dumps(content if changed is None else changed), encoding="utf-8")

    return damage


def pack(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda run: (run / name).write_bytes(gzip.compress(content))


def arrays(alter: Callable[[dict[str, np.ndarray]], object]) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        path = run / "sentiment" / "tfidf" / "model" / "model.safetensors"
        content = {name: array.copy() for name, array in load_file(path).items()}
        alter(content)
        save_file(content, path)

    return damage


STAGE, TFIDF, CANDIDATES = "sentiment/stage.json", "sentiment/tfidf/model", "candidates"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "dictionary that swells": (pack(f"{CANDIDATES}/dictionary.txt.gz", b"ab\n" * 2**21), r"unpacks to more than 200"),
    "dictionary that is none": (
        lambda run: (run / CANDIDATES / "dictionary.txt.gz").write_bytes(b"x"),
        "cannot be read",
    ),
    "dictionary in another code": (pack(f"{CANDIDATES}/dictionary.txt.gz", b"\xff\n"), "not UTF-8 at byte 0"),
    "counts that swell": (pack(f"{CANDIDATES}/key_counts.json.gz", b" " * 2**23), r"unpacks to more than 200"),
    "counts that are none": (pack(f"{CANDIDATES}/key_counts.json.gz", b"[1]"), r"as counts of keys"),
    "counts of one": (
        pack(f"{CANDIDATES}/key_counts.json.gz", b'{"n_articles":1,"n_offered":1,"n_gold":1,"table":{"a":[1]}}'),
        r"as counts of keys",
    ),
    "settings": (change(f"{CANDIDATES}/settings.json", lambda values: values.pop("candidates")), r"not the settings"),
    "unknown setting": (
        change(f"{CANDIDATES}/settings.json", lambda values: values["candidates"].update(x=1)),
        r"not the settings",
    ),
    "gold names": (change(f"{CANDIDATES}/gold_names.json", lambda values: ["a"]), r"want names"),
    "pruners": (change(f"{CANDIDATES}/pruners.json", lambda values: [1]), r"want pruners"),
    "weight of a pruner": (
        change(
            f"{CANDIDATES}/pruners.json", lambda values: {name: dict.fromkeys(of, "x") for name, of in values.items()}
        ),
        r"not a pruner",
    ),
    "rule": (change("rerank/thresholds.json", lambda values: values["rule"].update(floor="x")), r"floor and share"),
    "many entities": (
        change("rerank/thresholds.json", lambda values: values["rule"].update(max_entities=9)),
        r"max_entities to 3",
    ),
    "calibrator": (change("rerank/thresholds.json", lambda values: values.update(calibrator=3)), r"thresholds\.json"),
    "features": (change("rerank/model/features.json", lambda values: values[:-1]), r"max_feature_idx is"),
    "place out of the run": (
        change(STAGE, lambda values: values["models"].update({values["chosen"]: ["../../x"]})),
        r"'\.\./\.\./x' is no place of a model",
    ),
    "absolute place": (
        change(STAGE, lambda values: values["models"].update({values["chosen"]: ["/etc"]})),
        r"'/etc' is no place of a model",
    ),
    "member out of the run": (
        change(STAGE, lambda values: values.update(chosen="../x", models={"../x": ["model"]})),
        r"unknown sentiment member|not a sentiment stage",
    ),
    "temperature": (change(STAGE, lambda values: values["temperatures"].update(tfidf=0)), r"a positive number"),
    "weights": (change(STAGE, lambda values: values.update(weights=[0.0])), r"not all of them 0"),
    "no state": (change(STAGE, lambda values: [1]), r"not a sentiment stage"),
    "order of the stage": (
        change(STAGE, lambda values: values["emotions"].reverse()),
        r"stage\.json: emotions NEG, NORM, POS, want POS, NORM, NEG",
    ),
    "order of a member": (
        change(f"{TFIDF}/emotions.json", lambda values: values.reverse()),
        r"emotions\.json: emotions NEG, NORM, POS, want POS, NORM, NEG",
    ),
    "columns": (
        arrays(lambda found: found.update(coefficients=found["coefficients"][:, :2])),
        r"coefficients is missing",
    ),
    "idf": (arrays(lambda found: found.pop("idf.name")), r"idf\.name is missing"),
    "kind of numbers": (arrays(lambda found: found.update(intercept=np.zeros(3, np.int64))), r"intercept is missing"),
    "terms": (change(f"{TFIDF}/terms.json", lambda values: values.pop("name")), r"terms\.json: want the n-grams"),
    "terms twice": (
        change(f"{TFIDF}/terms.json", lambda values: values["name"].append(values["name"][0])),
        "want the n",
    ),
}


@pytest.fixture(scope="module")
def run(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that predicts by TF-IDF alone."""
    path = tiny_run.copy_to(tmp_path_factory.mktemp("damaged"))
    assert json.loads((path / STAGE).read_text(encoding="utf-8"))["chosen"] == "tfidf"
    Predictor.load(path)
    return path


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_told_in_one_line(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 2**16)
    damage, message = DAMAGES[name]
    broken = tmp_path / "models" / "tiny"
    shutil.copytree(run, broken)
    damage(broken)
    RunFolder(broken).finish(command=[], seed=7, threads=1)  # whoever changed a file can do as much
    RunFolder.load(broken)
    with pytest.raises(ArtifactError, match=message) as caught:
        Predictor.load(broken)
    assert "\n" not in caught.value.message


def test_a_run_from_before_the_order_was_saved_loads(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "earlier")
    change(STAGE, lambda values: values.pop("emotions") and None)(tmp_path / "earlier")
    (tmp_path / "earlier" / TFIDF / "emotions.json").unlink()
    assert Predictor.load(tmp_path / "earlier").sentiment is not None


def test_shares_say_of_which_emotions_they_are(tmp_path: Path) -> None:
    member = Majority()
    member.shares_ = np.array([0.5, 0.25, 0.25])
    member.save(tmp_path)
    assert Majority().load(tmp_path).shares_.tolist() == [0.5, 0.25, 0.25]
    path = tmp_path / "shares.json"
    saved = json.loads(path.read_text())
    path.write_text("[0.5, 0.25, 0.25]")  # as earlier versions
    assert Majority().load(tmp_path).shares_.tolist() == [0.5, 0.25, 0.25]
    for content, message in (
        (saved | {"emotions": ["NEG", "NORM", "POS"]}, r"shares\.json: emotions NEG, NORM, POS, want"),
        ([0.5, 0.5], "want a share of each of 3 emotions"),
        (["a", "b", "c"], "want shares"),
        ({}, "want a share"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(ArtifactError, match=message):
            Majority().load(tmp_path)
