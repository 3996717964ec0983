"""Journals, logs, locks and temporary files: a link planted under such a name is refused, never followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder, atomic_write_bytes, atomic_writer, files, open_locked, open_own
from pipeline.errors import ArtifactError, ConfigError
from pipeline.runtime.epoch_log import JsonLinesLog


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "precious.txt"
    path.parent.mkdir()
    path.write_bytes(b"precious\n")
    return path


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    with open_own(tmp_path / "log", "a") as file:
        file.write("松果\n")
    with open_own(tmp_path / "log", "a") as file:
        file.write("云杉\n")
    with open_own(tmp_path / "log", "rb") as file:
        assert file.read() == "松果\n云杉\n".encode()


def test_a_lock_is_free_again_once_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with open_locked(path), pytest.raises(BlockingIOError):
        open_locked(path)
    with open_locked(path) as file:
        assert os.path.samestat(os.fstat(file.fileno()), path.stat())


@pytest.mark.parametrize("dangling", [False, True], ids=["to a file", "to nothing"])
def test_a_link_is_refused(tmp_path: Path, victim: Path, dangling: bool) -> None:
    if dangling:
        victim.unlink()
    (tmp_path / "log").symlink_to(victim)
    for open_it in (open_own, open_locked):
        with pytest.raises(OSError, match="log is a symbolic link"):
            open_it(tmp_path / "log")
    assert victim.exists() is not dangling


def test_a_pipe_or_folder_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is no regular file"):
        open_own(tmp_path / "pipe", "ab+")
    with pytest.raises(OSError, match="No such device"):
        open_own(tmp_path / "pipe", "a")
    with pytest.raises(IsADirectoryError):
        open_own(tmp_path)


def test_a_linked_lock_or_log_of_a_run_changes_nothing_elsewhere(tmp_path: Path, victim: Path) -> None:
    run = RunFolder.create(tmp_path, "run-1")
    (run.path / ".lock").symlink_to(victim)
    with pytest.raises(ConfigError, match=r"run-1: cannot be written \(\.lock is a symbolic link\)"), run.claim():
        pass
    run.log_jsonl.symlink_to(victim)
    with pytest.raises(ConfigError, match=r"cannot be written \(log\.jsonl is a symbolic link\)"):
        JsonLinesLog(run.log_jsonl)({"epoch": 1})
    assert victim.read_bytes() == b"precious\n"


def test_a_held_run_is_an_artifact_error(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "run-1")
    with run.claim(), pytest.raises(ArtifactError, match="another training is using"), run.claim():
        pass


def write_text(path: Path) -> None:
    with atomic_writer(path) as file:
        file.write("new")


@pytest.mark.parametrize("write", [lambda path: atomic_write_bytes(path, b"new"), write_text], ids=["bytes", "text"])
def test_a_linked_temporary_name_is_refused(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    planted = tmp_path / ".out.1-00000000.tmp"
    planted.symlink_to(victim)
    monkeypatch.setattr(files, "temporary_path", lambda path: planted)
    with pytest.raises(ConfigError, match=r"out: cannot be written \(File exists\)"):
        write(tmp_path / "out")
    assert victim.read_bytes() == b"precious\n"
    assert not (tmp_path / "out").exists()
