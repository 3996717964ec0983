"""Commands in this process."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.support.command_line import Done


@pytest.fixture
def run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Done]]:
    """Run a command in this process, with the temporary folder as working folder: spares seconds of imports."""
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        code = main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    yield run
    root.handlers[:] = handlers
    package.setLevel(level)
    signal.signal(signal.SIGTERM, on_term)
