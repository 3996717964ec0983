"""The group of commands that put one thing beside another: ``compare runs``."""

from __future__ import annotations

import typer

from pipeline.cli.compare_runs import runs

compare = typer.Typer(
    help="""Tables of one thing beside another, on the same rows.

    Example: python run.py compare runs --run first --other second --gold data/sample/test.jsonl
    """
)
compare.command("runs")(runs)


@compare.callback()
def options() -> None:
    """Keep the name of a command needed, also while there is only one."""
