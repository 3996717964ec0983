"""Rows, trained taggers, and a way to run commands of ``tag`` in this process."""

from __future__ import annotations

import logging
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.cli.tag.rows import SMALL, entity_row, lines, token_row
from tests.support.command_line import Cli, Done


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows to train on and to score, of entities and of parts of speech."""
    folder = tmp_path_factory.mktemp("rows")
    rng = random.Random(3)
    for name, make, count in (
        ("train", entity_row, 80),
        ("dev", entity_row, 12),
        ("pos_train", token_row, 60),
        ("pos_dev", token_row, 9),
    ):
        (folder / f"{name}.jsonl").write_text(lines(*(make(rng) for _ in range(count))), encoding="utf-8")
    return folder


@contextmanager
def in_this_process(folder: Path) -> Iterator[Callable[..., int]]:
    """Lend a function that runs a command of ``tag`` in a folder, as a process would but for the imports."""
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder):
            yield lambda *arguments: main(["tag", *map(str, arguments)])
    finally:
        root.handlers[:] = handlers
        package.setLevel(level)
        signal.signal(signal.SIGTERM, on_term)


@pytest.fixture(scope="module")
def models(cli: Cli, data: Path) -> Path:
    """Return a folder with a tagger of entities (``ner``), the same again (``again``), and one of tags (``pos``)."""
    done = cli.run(*("tag", "train", "--train", "train.jsonl", "--model", "models/ner", *SMALL), cwd=data)
    assert (done.code, done.out) == (0, "models/ner\n"), done.err
    with in_this_process(data) as run:
        assert run("train", "--train", "train.jsonl", "--model", "models/again", *SMALL) == 0
        assert run("train", "--train", "pos_train.jsonl", "--model", "models/pos", *SMALL) == 0
    return data / "models"


@pytest.fixture
def run_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Done]]:
    """Run a command of ``tag`` with the temporary folder as working folder."""
    with in_this_process(tmp_path) as run:
        yield lambda *arguments: Done(run(*arguments), *capsys.readouterr())
