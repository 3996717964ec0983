"""An input that gives its bytes once is counted, hashed and read alike, and leaves no copy behind."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

from pipeline.artifacts import DataFile, inputs, inputs_kept, open_input, sha256_file
from pipeline.data.read import count_rows, iter_articles
from pipeline.errors import ConfigError
from tests.support.command_line import RUN_PY, Cli, TinyRun
from tests.support.paths import ROOT


@contextmanager
def pipe(path: Path, content: bytes) -> Iterator[Path]:
    """Lend a pipe that someone writes to, once."""
    os.mkfifo(path)

    def write() -> None:
        with suppress(BrokenPipeError):  # a reader that gives up
            path.write_bytes(content)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join(60)
    assert not writer.is_alive()
    path.unlink()


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for copies."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_counting_hashing_and_reading_see_the_same_bytes(tiny_data: Path, tmp_path: Path, temporary: Path) -> None:
    content = (tiny_data / "train.jsonl").read_bytes()
    with inputs_kept(), pipe(tmp_path / "rows", content) as path:
        n_rows = count_rows(path)
        assert DataFile.of(path, rows=n_rows) == DataFile("rows", hashlib.sha256(content).hexdigest(), 44)
        first, second = (list(iter_articles(path, labelled=True)) for _ in range(2))
        assert first == second == list(iter_articles(tiny_data / "train.jsonl", labelled=True))
        assert len(list(temporary.iterdir())) == 1
    assert list(temporary.iterdir()) == []


def test_a_file_is_read_as_it_is(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "rows").write_bytes(b"a")
    with inputs_kept():
        assert sha256_file(tmp_path / "rows") == hashlib.sha256(b"a").hexdigest()
        (tmp_path / "rows").write_bytes(b"b")
        with open_input(tmp_path / "rows") as file:
            assert file.read() == b"b"
        with pytest.raises(FileNotFoundError):
            open_input(tmp_path / "nowhere")
        with pytest.raises(IsADirectoryError):
            open_input(tmp_path)
        assert list(temporary.iterdir()) == []


def test_a_full_folder_of_temporary_files_is_told(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(inputs.shutil, "copyfileobj", refuse)
    message = rf"{temporary}: no temporary file can be written \(No space left on device\)"
    with inputs_kept(), pipe(tmp_path / "rows", b"a\n") as path, pytest.raises(ConfigError, match=message):
        open_input(path)
    assert list(temporary.iterdir()) == []


def test_the_commands_read_a_pipe_as_a_file(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path, temporary: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    content = (tiny_data / "test.jsonl").read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(content)
    gold = ("--gold", "rows.jsonl")
    assert cli.run("predict", "--input", "rows.jsonl", "--output", "file.txt", cwd=tmp_path).code == 0
    with pipe(tmp_path / "rows", content):
        assert cli.run("predict", "--input", "rows", "--output", "pipe.txt", cwd=tmp_path).code == 0
    answers = (tmp_path / "file.txt").read_bytes()
    assert (tmp_path / "pipe.txt").read_bytes() == answers
    for option, arguments in {
        "check": ("check", "--submission", "file.txt", "--input"),
        "evaluate": ("evaluate", "--submission", "file.txt", "--gold"),
        "audit": ("audit",),
    }.items():
        wanted = cli.run(*arguments, "rows.jsonl", cwd=tmp_path)
        with pipe(tmp_path / "rows", content):
            found = cli.run(*arguments, "rows", cwd=tmp_path)
        said, want = ("".join(done.out.split()).replace(".jsonl", "") for done in (found, wanted))
        assert (found.code, said) == (0, want), option
    with pipe(tmp_path / "answers", answers):
        assert cli.run("check", "--submission", "answers", "--input", "rows.jsonl", cwd=tmp_path).code == 0
    with pipe(tmp_path / "answers", answers):
        assert cli.run("evaluate", "--submission", "answers", *gold, cwd=tmp_path).code == 0
    assert list(temporary.iterdir()) == []


def test_standard_input_is_an_input(tiny_data: Path, tmp_path: Path, temporary: Path) -> None:
    content = (tiny_data / "train.jsonl").read_bytes()
    command = [sys.executable, str(RUN_PY), "train", "--preset", "tiny", "--run", "piped", "--train", "/dev/stdin"]
    quick = ["--set", "sentiment.members=[tfidf]", "--set", "rerank.n_estimators=3", "--set", "workers=1"]
    done = subprocess.run(
        [*command, *quick], input=content, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 0
    [data] = json.loads((tmp_path / "models" / "piped" / "manifest.json").read_bytes())["data"]
    assert data == {"name": "stdin", "sha256": hashlib.sha256(content).hexdigest(), "rows": 44}
    other = subprocess.run(
        [*command, *quick, "--resume"],
        input=content.replace(b"tiny", b"another"),
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert other.returncode == 0
    assert b"stage rerank: done before" not in other.stderr
    assert list(temporary.iterdir()) == []
