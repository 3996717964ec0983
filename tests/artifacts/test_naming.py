"""Names of runs, and the one that is meant where none is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.artifacts import (
    RunFolder,
    atomic_write_json,
    atomic_write_text,
    new_run_name,
    newest_run,
    open_run,
    read_json,
    validate_run_name,
)
from pipeline.errors import ArtifactError, ConfigError
from tests.support.runs import finished_run


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
