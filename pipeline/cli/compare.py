"""The group of commands that put one thing beside another: heads, modes, runs."""

from __future__ import annotations

import typer

from pipeline.cli.compare_heads import heads
from pipeline.cli.compare_modes import modes
from pipeline.cli.compare_runs import runs

compare = typer.Typer(
    help="""Compare heads, modes or runs on the same rows, with their spread or intervals.

    Example: python run.py compare runs --run first --other second --gold data/sample/test.jsonl
    """
)
for command in (heads, modes, runs):
    compare.command()(command)
