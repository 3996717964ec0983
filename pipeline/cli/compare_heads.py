"""``compare heads``: sentiment heads side by side on labelled rows."""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import Set
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pipeline.data.reading import Reading
    from pipeline.standalone.heads.compare import HeadComparison
    from pipeline.standalone.heads.results import ResultFile

logger = logging.getLogger("pipeline.cli")


@reads_labelled_rows
def heads(
    data: Annotated[
        Path,
        typer.Option(help="Labelled rows: text and label, text with target and polarity, or articles.", metavar="FILE"),
    ],
    test: Annotated[
        Path | None, typer.Option(help="Rows that are scored; by default a part of the data.", metavar="FILE")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Rows that choose the epoch; by default a part of the data.", metavar="FILE")
    ] = None,
    names: Annotated[
        str | None,
        typer.Option("--heads", help="Names joined by commas; all that fit by default.", metavar="NAME,..."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Trainings of each head.", metavar="N")] = 3,
    held_out: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share that is scored where no test file is given.")
    ] = 0.2,
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Trainings at a time.", metavar="N")] = 1,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Keep every result; trainings it holds are not repeated.", metavar="FILE"),
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as Markdown.", metavar="FILE")] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help='Keep the best model of each head, by dev rows, as FOLDER/NAME for "heads predict".', metavar="FOLDER"
        ),
    ] = None,
    attention: Annotated[
        int, typer.Option(min=0, help="Show what each head with attention looks at in N test rows.", metavar="N")
    ] = 0,
    color: Annotated[
        Literal["auto", "always", "never"], typer.Option(help="Colours in what is shown: auto, always, never.")
    ] = "auto",
    reading: Reading | None = None,
) -> None:
    """Train sentiment heads with several seeds each, and print one table of how well they do.

    The epoch is chosen by development rows, never by the test rows. Rows of text and label have no target: there the
    document baselines are compared. What is held out has whole texts, and of every class its share.

    Example: python run.py compare heads --data data/sample/train.jsonl --heads ian,af_lstm --seeds 2
    """
    from pipeline.config import load_config

    inputs = tuple(path for path in (data, dev, test) if path)
    distinct_outputs(json_file, markdown, inputs=inputs)
    if missing := [path for path in inputs if not path.exists()]:
        raise DataError(f"{missing[0]}: no such file")
    wanted = None if names is None else [name.strip() for name in names.split(",")]
    if wanted is not None and "" in wanted:
        raise ConfigError(f"--heads {names}: want names joined by commas")
    options = load_config(preset=preset, file=config, overrides=overrides or [])

    from pipeline.artifacts import atomic_write_text, output_file
    from pipeline.standalone.heads.compare import compare, load_comparison
    from pipeline.standalone.heads.results import ResultFile, markdown_table, text_table

    for path in (json_file, markdown):
        if path:
            output_file(path)  # better now than after the work
    kept = ResultFile(json_file)
    comparison = load_comparison(
        data,
        test,
        config=options,
        dev=dev,
        heads=wanted,
        n_seeds=seeds,
        held_out=held_out,
        n_shown=attention,
        reading=reading,
    )
    logger.info(
        "train: %d examples, test: %d examples, classes: %s",
        *(len(comparison.train), len(comparison.test), ", ".join(comparison.classes)),
    )
    try:
        table = compare(comparison, kept, workers=workers, save=save)
    except KeyboardInterrupt:
        if json_file:
            logger.warning("trainings finished so far are kept in %s; the same command goes on with them", json_file)
        raise
    say(text_table(table))
    if markdown:
        atomic_write_text(markdown, markdown_table(table))
    _show_attention(comparison, kept, color)


def _show_attention(comparison: HeadComparison, kept: ResultFile, color: str) -> None:
    from pipeline.standalone.heads.attention_view import attention_text

    is_terminal = sys.stdout.isatty()
    colored = color == "always" or (color == "auto" and is_terminal)
    results = kept.results(comparison.key)
    for name in comparison.heads:
        for seen in results[name, comparison.seeds[0]].attention:
            view = attention_text(
                seen.text,
                seen.weights,
                target=seen.target,
                colored=colored,
                width=shutil.get_terminal_size().columns if is_terminal else None,
            )
            typer.echo(f"\n{name}: {seen.answer} (gold {seen.gold})\n{view}", color=colored)
