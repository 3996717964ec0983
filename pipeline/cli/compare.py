"""The group of commands that put one thing beside another: ``compare heads``."""

from __future__ import annotations

import typer

from pipeline.cli.compare_heads import heads

compare = typer.Typer(
    help="""Tables of one thing beside another, on the same rows.

    Example: python run.py compare heads --data data/sample/train.jsonl --test data/sample/test.jsonl
    """
)
compare.command("heads")(heads)


@compare.callback()
def options() -> None:
    """Keep the name of a command needed, also while there is only one."""
