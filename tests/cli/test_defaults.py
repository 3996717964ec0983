"""What a command takes where nothing is said: files, preset; and what it shows when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.errors import ConfigError
from pipeline.workflow.train_request import TrainRequest
from tests.support.command_line import Cli, Done
from tests.support.rows import GOOD, rows


def test_the_official_files_are_read_where_none_is_named(run_here: Callable[..., Done], tmp_path: Path) -> None:
    for command in (("train", "--preset", "tiny"), ("train", "--dry-run"), ("predict",)):
        done = run_here(*command)
        assert done.code == 3
        assert done.message.startswith("data/coreEntityEmotion_")
        assert "python run.py demo" in done.err
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "coreEntityEmotion_train.txt").write_bytes(rows(GOOD))
    done = run_here("train", "--preset", "tiny", "--run", "few")
    assert (done.code, "too few for 3 folds" in done.message) == (3, True)
    assert "training file: data/coreEntityEmotion_train.txt" in done.err


@pytest.mark.parametrize(
    ("arguments", "preset"),
    [
        (["train"], "cpu"),
        (["train", "--preset", "tiny"], "tiny"),
        (["train", "--preset=tiny"], "tiny"),
        (["train", "--preset", "fast", "--preset=tiny"], "tiny"),
        (["train", "--preset=best", "--set", "candidates.dictionary=--preset"], "best"),
        (["demo"], "fast"),
        (["demo", "--preset=tiny"], "tiny"),
    ],
)
def test_a_training_is_told_its_preset_however_it_is_spelled(
    run_here: Callable[..., Done],
    tiny_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    preset: str,
) -> None:
    asked = []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "coreEntityEmotion_train.txt").write_bytes((tiny_data / "train.jsonl").read_bytes())

    def stop(request: TrainRequest, run: object) -> None:
        asked.append(request)
        raise ConfigError("far enough")

    monkeypatch.setattr("pipeline.workflow.train.train", stop)
    done = run_here(*arguments)
    assert (done.code, done.message) == (2, "far enough")
    assert [request.preset for request in asked] == [preset]
    want = load_config(preset=preset)
    assert [replace(request.config, candidates=want.candidates) for request in asked] == [want]


def test_a_traceback_is_shown_on_demand_alone(cli: Cli, tmp_path: Path) -> None:
    plain = cli.run("audit", "nowhere.jsonl", cwd=tmp_path)
    debug = cli.run("--debug", "audit", "nowhere.jsonl", cwd=tmp_path)
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert plain.code == debug.code == 3


def test_a_reader_that_went_away_is_told_by_the_exit_code_alone(cli: Cli, tiny_data: Path) -> None:
    process = cli.start("audit", "all.jsonl", cwd=tiny_data)  # as in "audit FILE | head"
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")
