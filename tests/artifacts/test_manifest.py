"""What a manifest says of a run, and what loading compares with it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pipeline.artifacts import (
    SCHEMA_VERSION,
    DataFile,
    RunFolder,
    atomic_write_json,
    git_state,
    manifest,
    read_json,
)
from pipeline.artifacts.run_folder import SEAL, UNKNOWN
from pipeline.errors import ArtifactError
from tests.support.runs import finished_run


def test_manifest_says_where_a_run_comes_from(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "run-1")
    data = tmp_path / "train.jsonl"
    data.write_text("{}\n", encoding="utf-8")
    run.finish(command=["run.py", "train"], seed=7, threads=2, data=[DataFile.of(data, rows=1)])
    saved = run.read_manifest()
    assert saved["schema_version"] == SCHEMA_VERSION
    assert saved["data"] == [{"name": "train.jsonl", "sha256": hashlib.sha256(b"{}\n").hexdigest(), "rows": 1}]
    assert (saved["command"], saved["seed"], saved["threads"], saved["device"]) == (["run.py", "train"], 7, 2, "cpu")
    assert datetime.fromisoformat(saved["created"]).utcoffset().total_seconds() == 0
    assert set(saved["git"]) == {"commit", "dirty"}
    assert saved["packages"]["numpy"]
    assert saved["python"] == ".".join(map(str, sys.version_info[:3]))


def test_a_run_knows_its_preset(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    assert read_json(run.manifest)["preset"] is None
    assert run.preset == UNKNOWN == "unknown"
    run.finish(command=["run.py", "train", "--preset", "fast"], seed=7, threads=1, preset="tiny")
    assert (read_json(run.manifest)["preset"], run.preset) == ("tiny", "tiny")
    # As runs of earlier versions: without the key, and without a checksum of the manifest.
    older = {name: value for name, value in read_json(run.manifest).items() if name not in ("preset", SEAL)}
    atomic_write_json(run.manifest, older)
    assert run.preset == UNKNOWN


def test_manifest_lists_exactly_the_files_of_the_model(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    saved = run.read_manifest()
    assert saved["files"] == {
        "config.yaml": hashlib.sha256(b"seed: 7\n").hexdigest(),
        "rerank/model.txt": hashlib.sha256(b"tree\n").hexdigest(),
    }
    assert saved["seconds"] == {"rerank": 1.5}
    assert saved["facts"] == {"segmentation": "jieba"}


def test_a_run_moved_elsewhere_loads(tmp_path: Path) -> None:
    shutil.move(finished_run(tmp_path / "models").path, tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "log.txt").write_text("read since", encoding="utf-8")
    assert (RunFolder.load(tmp_path / "elsewhere").stage("rerank") / "model.txt").read_text(
        encoding="utf-8"
    ) == "tree\n"


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    (run.stage("rerank") / "model.txt").write_text("Tree\n", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"rerank/model\.txt: changed since"):
        RunFolder.load(run.path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    (run.stage("rerank") / "model.txt").unlink()
    with pytest.raises(ArtifactError, match=r"rerank/model\.txt: missing from the run"):
        RunFolder.load(run.path)


def test_another_schema_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    atomic_write_json(run.manifest, read_json(run.manifest) | {"schema_version": 99})
    with pytest.raises(ArtifactError, match=rf"schema version 99, this program reads {SCHEMA_VERSION}"):
        RunFolder.load(run.path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "schema version None"),
        (json.dumps({"schema_version": SCHEMA_VERSION}), "no list of files"),
    ],
)
def test_a_broken_manifest_is_an_artifact_error(content: str, message: str, tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    run.manifest.write_text(content, encoding="utf-8")
    with pytest.raises(ArtifactError, match=message):
        RunFolder.load(run.path)


def test_a_run_without_manifest_is_unfinished(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "run-1")
    with pytest.raises(ArtifactError, match="run-1: the run is unfinished") as caught:
        RunFolder.load(run.path)
    assert caught.value.hint == "python run.py train --run run-1 --resume"
    with pytest.raises(ArtifactError, match="no such run folder"):
        RunFolder.load(tmp_path / "run-2")


def test_git_state_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(git_state()) == {"commit", "dirty"}
    unknown = {"commit": None, "dirty": None}
    monkeypatch.setattr(manifest, "PROJECT_DIR", tmp_path)
    assert git_state() == unknown  # no repository
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state() == unknown  # no git


def test_git_state_is_that_of_this_checkout_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # inside a commit hook they would lead git to the hook's repository
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    monkeypatch.setattr(manifest, "PROJECT_DIR", tmp_path.resolve())
    state = git_state()
    assert re.fullmatch("[0-9a-f]{40}", state["commit"])
    assert state["dirty"] is False
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "new").touch()
    assert git_state() == {"commit": state["commit"], "dirty": True}
    monkeypatch.setattr(manifest, "PROJECT_DIR", tmp_path.resolve() / "inner")
    assert git_state() == {"commit": None, "dirty": None}
