"""The group of commands that put one thing beside another on the same articles, with intervals."""

from __future__ import annotations

import typer

from pipeline.cli.compare_modes import modes
from pipeline.cli.compare_runs import runs

compare = typer.Typer(
    help="""Compare modes or runs on the same articles, with intervals.

    Example: python run.py compare runs --run first --other second --gold data/sample/test.jsonl
    """
)
for command in (modes, runs):
    compare.command()(command)
