"""Help: every command with an example, in half a second."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from pipeline import __version__
from tests.support.command_line import Cli

COMMANDS = ("demo", "audit", "convert", "train", "predict", "check", "evaluate", "report", "explain", "tune")


SLOW_IMPORTS = ("accelerate", "joblib", "lightgbm", "numpy", "omegaconf", "pandas", "sklearn", "torch", "transformers")


MAX_HELP_SECONDS = 0.5
"""Of processor time, so that a busy machine does not count."""


def test_help_lists_the_commands_in_half_a_second(cli: Cli, tmp_path: Path) -> None:
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = cli.run("--help", cwd=tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert done.code == 0
    assert done.err == ""
    assert [command for command in COMMANDS if f"  {command} " in done.out] == list(COMMANDS)
    assert min(seconds) < MAX_HELP_SECONDS


def test_help_imports_nothing_that_takes_long(cli: Cli, tmp_path: Path) -> None:
    code = "import sys; from pipeline.cli import main; main(['train', '--help']); print(*sys.modules, file=sys.stderr)"
    done = cli.run(cwd=tmp_path, code=code)
    assert done.code == 0
    assert not set(SLOW_IMPORTS) & set(done.err.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli: Cli, tmp_path: Path, command: str) -> None:
    done = cli.run(command, "--help", cwd=tmp_path)
    assert done.code == 0
    assert f"Example: python run.py {command}" in done.out


def test_no_argument_shows_help(cli: Cli, tmp_path: Path) -> None:
    done = cli.run(cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "Commands:" in done.out


def test_version(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("--version", cwd=tmp_path).out == f"{__version__}\n"
