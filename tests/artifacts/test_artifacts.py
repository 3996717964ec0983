"""The run folder: whole files, the manifest as a tamper check, resuming, locking, names."""

from __future__ import annotations

import gzip
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
    StageTimer,
    atomic_write_bytes,
    atomic_write_json,
    atomic_write_text,
    atomic_writer,
    git_state,
    manifest,
    new_folder,
    new_run_name,
    newest_run,
    open_run,
    read_json,
    stage_key,
    validate_run_name,
)
from pipeline.artifacts.run_folder import SEAL, UNKNOWN
from pipeline.errors import ArtifactError, ConfigError
from tests.support.paths import ROOT


def finished_run(models_dir: Path, name: str = "run-1") -> RunFolder:
    """A run with two model files, a log, and a table that prediction does not read."""
    run = RunFolder.create(models_dir, name)
    atomic_write_text(run.config, "seed: 7\n")
    atomic_write_text(run.stage("rerank") / "model.txt", "tree\n")
    atomic_write_text(run.log_text, "started\n")
    atomic_write_text(run.oof("rerank"), "newsId\n")
    run.mark_stage("rerank", key="k", files=[run.stage("rerank") / "model.txt"], seconds=1.5)
    run.finish(command=["run.py", "train"], seed=7, threads=2, facts={"segmentation": "jieba"})
    return run


# --- files


def test_atomic_write_makes_folders_and_keeps_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "notes.txt"
    atomic_write_text(path, "松果\r\n")
    atomic_write_text(path, "云杉\n")
    assert path.read_bytes() == "云杉\n".encode()
    assert [file.name for file in path.parent.iterdir()] == ["notes.txt"]


def test_atomic_write_leaves_the_old_file_when_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    atomic_write_bytes(tmp_path / "f", b"old")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write_bytes(tmp_path / "f", b"new")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"f": b"old"}


@pytest.mark.parametrize("target", [".", "file/below", "pipe"])
def test_atomic_write_to_a_useless_path_is_a_config_error(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"is a folder or device|cannot be written"):
        atomic_write_bytes(tmp_path / target, b"")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_json_round_trip_keeps_any_text(tmp_path: Path) -> None:
    value = {"松果": ["\ud800", "a\u2028b", 0.5, None]}
    atomic_write_json(tmp_path / "v.json", value)
    assert read_json(tmp_path / "v.json") == value
    assert "松果" in (tmp_path / "v.json").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="not JSON compliant"):
        atomic_write_json(tmp_path / "v.json", float("nan"))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"{", "not valid"), (b"\xff", "not valid")]
)
def test_read_json_names_the_file(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "v.json").write_bytes(content)
    with pytest.raises(ArtifactError, match=rf"v\.json: {message}"):
        read_json(tmp_path / "v.json")


# --- manifest and loading


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


# --- creating, claiming, resuming


def test_create_refuses_an_existing_run_unless_it_is_resumed(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    with pytest.raises(ConfigError, match="run-1: the run exists already"):
        RunFolder.create(tmp_path, "run-1")
    assert RunFolder.create(tmp_path, "run-1", resume=True) == run
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file/run-1: cannot be written"):
        RunFolder.create(tmp_path / "file", "run-1")


def test_a_claimed_run_counts_as_unfinished_and_refuses_a_second_training(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    with run.claim():
        with pytest.raises(ArtifactError, match="another training is using"), run.claim():
            pass
        with pytest.raises(ArtifactError, match="unfinished"):
            RunFolder.load(run.path)
        run.finish(command=[], seed=7, threads=1)
    with run.claim():  # free again
        pass


def test_a_claim_holds_against_another_process(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "run-1")
    code = (
        f"from pathlib import Path; from pipeline.artifacts import RunFolder as R; R(Path({str(run.path)!r})).claim()"
    )
    command = [sys.executable, "-c", f"{code}.__enter__()"]
    with run.claim():
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "another training is using this run folder" in done.stderr
    assert subprocess.run(command, cwd=ROOT, timeout=60).returncode == 0


def test_a_stage_is_done_only_with_its_key_and_its_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = RunFolder.create(tmp_path, "run-1")
    model = run.stage("sentiment") / "fold-0" / "model.txt"
    assert not run.stage_done("sentiment", "k1")
    atomic_write_text(model, "weights")
    run.mark_stage("sentiment", key="k1", files=[run.stage("sentiment")], seconds=2)
    run.mark_stage("rerank", key="k2")
    assert run.stage_done("sentiment", "k1")
    assert run.stage_done("rerank", "k2")
    with caplog.at_level("INFO"):
        assert not run.stage_done("sentiment", "k9")
        model.write_text("other weights", encoding="utf-8")
        assert not run.stage_done("sentiment", "k1")
        model.unlink()
        assert not run.stage_done("sentiment", "k1")
    assert caplog.messages[:2] == [
        "stage sentiment runs again: configuration or data changed since it was finished",
        "stage sentiment runs again: sentiment/fold-0/model.txt changed since it was finished",
    ]
    assert list(read_json(run.progress)["sentiment"]["files"]) == ["sentiment/fold-0/model.txt"]


def test_stage_key_depends_on_every_value_but_not_on_key_order() -> None:
    assert stage_key({"a": 1, "b": [2]}, "x") == stage_key({"b": [2], "a": 1}, "x")
    assert len({stage_key({"a": 1}, "x"), stage_key({"a": 2}, "x"), stage_key({"a": 1}, "y"), stage_key({"a": 1})}) == 4


def test_stage_timer_measures_its_block() -> None:
    with StageTimer() as timer:
        assert timer.seconds == 0.0
    assert 0.0 < timer.seconds < 5.0


# --- names


@pytest.mark.parametrize("name", ["run-1", "20290101-120000-cpu-abc1234", "a.b_c", "9"])
def test_a_good_run_name_is_returned(name: str) -> None:
    assert validate_run_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a..b", "../up", "a b", "松果", "a\n", "x" * 101]
)
def test_a_bad_run_name_is_a_config_error(name: str, tmp_path: Path) -> None:
    for refuse in (validate_run_name, lambda bad: RunFolder.create(tmp_path, bad), lambda bad: open_run(tmp_path, bad)):
        with pytest.raises(ConfigError, match="want letters, digits"):
            refuse(name)
    assert list(tmp_path.iterdir()) == []


def test_new_run_name_holds_time_preset_and_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    for commit, tail in (("0123456789abcdef", "0123456"), (None, "nogit")):
        monkeypatch.setattr("pipeline.artifacts.naming.git_state", lambda commit=commit: {"commit": commit})
        name = new_run_name("cpu")
        assert re.fullmatch(rf"\d{{8}}-\d{{6}}-cpu-{tail}", name)
        assert validate_run_name(name) == name


def test_newest_run_goes_by_the_time_it_was_finished(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    late = finished_run(tmp_path, "a-late")
    early = finished_run(tmp_path, "z-early")
    saved = {name: value for name, value in read_json(early.manifest).items() if name != "sha256"}
    atomic_write_json(early.manifest, saved | {"created": "2020-01-01T00:00:00.000000+00:00"})
    RunFolder.create(tmp_path, "zz-unfinished")
    atomic_write_text(tmp_path / "zzz-broken" / "manifest.json", "{")
    assert newest_run(tmp_path) == late
    assert "zzz-broken" in caplog.text
    assert open_run(tmp_path) == late
    assert open_run(tmp_path, "z-early") == early


def test_newest_run_without_any_says_how_to_train(tmp_path: Path) -> None:
    for models_dir in (tmp_path, tmp_path / "none"):
        with pytest.raises(ArtifactError, match="no finished run") as caught:
            newest_run(models_dir)
        assert caught.value.hint == "python run.py train"


# --- git


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


# --- files that come bit by bit, folders that appear when they are done


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_file_written_bit_by_bit_is_whole_or_absent(tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    with atomic_writer(path) as file:
        file.write("青\r\n")
        file.write("\ud800")
        assert not path.exists()
    content = path.read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content) == "青\r\n\\ud800".encode()

    def break_off() -> None:
        with atomic_writer(path) as file:
            file.write("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        break_off()
    assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == [name]


def test_a_new_folder_appears_when_the_block_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "models" / "a"

    def break_off() -> None:
        with new_folder(path) as folder:
            (folder / "half").touch()
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        break_off()
    assert list(path.parent.iterdir()) == []
    path.mkdir()  # an empty folder is as good as none
    with new_folder(path) as folder:
        (folder / "whole").touch()
        assert list(path.iterdir()) == []
    assert [entry.name for entry in path.iterdir()] == ["whole"]
    with pytest.raises(ConfigError, match="a: exists already"), new_folder(path):
        pass
    with pytest.raises(ConfigError, match="cannot be written"), new_folder(path / "whole" / "b"):
        pass


def test_a_stage_of_another_run_is_taken_over_with_its_files_and_time(tmp_path: Path) -> None:
    other, run = finished_run(tmp_path, "old"), RunFolder.create(tmp_path, "new")
    assert not run.take_over(other, "rerank", key="another", names={})
    assert not run.take_over(other, "tagger", key="k", names={})
    assert run.take_over(other, "rerank", key="k", names={"rerank/model.txt": "rerank/renamed.txt"})
    assert (run.path / "rerank" / "renamed.txt").read_bytes() == (other.stage("rerank") / "model.txt").read_bytes()
    assert run.stage_done("rerank", "k")
    assert run.stage_seconds() == {"rerank": 1.5}
    atomic_write_text(other.stage("rerank") / "model.txt", "another tree\n")
    assert not run.take_over(other, "rerank", key="k", names={})
