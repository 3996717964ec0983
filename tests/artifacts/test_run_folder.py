"""A run folder while it is worked on: created, claimed, resumed, its stages taken over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.artifacts import (
    RunFolder,
    StageTimer,
    atomic_write_text,
    read_json,
    stage_key,
)
from pipeline.errors import ArtifactError, ConfigError
from tests.support.paths import ROOT
from tests.support.runs import finished_run


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
