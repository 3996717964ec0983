"""The group of commands that put models side by side: the same articles, the same folds, intervals."""

from __future__ import annotations

import typer

from pipeline.cli.compare_modes import modes

compare = typer.Typer(
    help="""Compare models on the same articles and folds, with intervals.

    Example: python run.py compare modes --train data/sample/train.jsonl --preset tiny --set tagger.name=lstm
    """
)


@compare.callback()
def group() -> None:
    """Keep ``compare`` a group, however many commands it has."""


compare.command()(modes)
