"""``report``: where the lost points are, as one folder."""

from __future__ import annotations

import logging
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import chosen_run, distinct_outputs
from pipeline.cli.options import Limit, RunName, SkipBadRows, Workers
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import say, warn_of_rows

if TYPE_CHECKING:
    from pipeline.data.reading import Reading

logger = logging.getLogger("pipeline.cli")


class Lang(StrEnum):
    """Language of a page."""

    EN = "en"
    ZH = "zh"


Language = Annotated[Lang, typer.Option(help="Language of the page.")]


@reads_labelled_rows
def report(
    gold: Annotated[Path, typer.Option(help="Labelled articles that the run was not trained on.", metavar="FILE")],
    run: RunName = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the report; models/RUN/report by default.", metavar="FOLDER")
    ] = None,
    lang: Language = Lang.EN,
    learning_curve: Annotated[
        bool, typer.Option("--learning-curve", help="Also train on parts of the run's training files; slow.")
    ] = False,
    train_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--train", help="Those files, where they are not where the run's command had them.", metavar="FILE"
        ),
    ] = None,
    human_agreement: Annotated[
        bool,
        typer.Option(
            "--human-agreement", help="Also show how far two people agree: known of the competition's articles only."
        ),
    ] = False,
    limit: Limit = None,
    workers: Workers = None,
    skip_bad_rows: SkipBadRows = False,
    reading: Reading | None = None,
) -> None:
    """Say where the lost points are: what each stage costs, why each entity was missed, and every article.

    Example: python run.py report --run first --gold data/sample/test.jsonl --out report
    """
    curve = (train_files or []) if learning_curve else None
    folder = write_report(
        *(run, gold, out, lang),
        curve=curve,
        human_agreement=human_agreement,
        limit=limit,
        workers=workers,
        skip_bad_rows=skip_bad_rows,
        reading=reading,
    )
    say(report_paths(folder))


def write_report(
    name: str | None,
    gold: Path,
    out: Path | None = None,
    lang: Lang = Lang.EN,
    *,
    curve: list[Path] | None = None,
    human_agreement: bool = False,
    limit: int | None = None,
    workers: int | None = None,
    skip_bad_rows: bool = False,
    reading: Reading | None = None,
) -> Path:
    """Write the report of a run, show its short form, and return its folder.

    ``curve`` names the training files behind a learning curve (none: those of the run's command); None: no curve.
    """
    from pipeline.artifacts import atomic_write_json
    from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles
    from pipeline.data.seen import SeenTexts, article_key, tell_seen

    if out is not None:
        _keep_apart(out, gold)  # before a file of such a name is read as a table
    policy, read = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP, ReadReport()
    articles = list(islice(iter_articles(gold, labelled=True, policy=policy, report=read, reading=reading), limit))
    warn_of_rows(gold, read)
    run = chosen_run(name)
    tell_seen(map(article_key, articles), SeenTexts.load(run.path), gold, rows="articles")
    folder = run.report.parent if out is None else out
    _keep_apart(folder, gold)
    logger.info("run: %s", run.path)

    from pipeline.report import build_report
    from pipeline.report.errors_table import errors_table
    from pipeline.report.html import write_html
    from pipeline.report.learning_curve import learning_curve, training_files
    from pipeline.report.terminal import ladder_text
    from pipeline.workflow.run_config import load_run_config

    n_workers = workers or load_run_config(run.config).workers
    files = None if curve is None else training_files(run, curve)  # what is wrong with them is found now
    built = build_report(
        *(run, articles),
        workers=n_workers,
        gold_path=str(gold),
        lang=lang.value,
        human_agreement=human_agreement,
    )
    if files is not None:
        built.figures["learning_curve"] = learning_curve(run, files, articles, workers=n_workers)
    with errors_table(folder / "errors.csv", built.views) as views:
        write_html(folder, built.figures, views, lang=lang.value)
    atomic_write_json(folder / "report.json", built.figures)
    say(ladder_text(built.figures))
    return folder


def report_paths(folder: Path) -> str:
    """Name the files of a report, a line each."""
    files = {"page": "index.html", "report": "report.json", "errors": "errors.csv"}
    return "\n".join(f"{label}: {folder / name}" for label, name in files.items())


def _keep_apart(folder: Path, gold: Path) -> None:
    """Refuse a report that would be written over its own input."""
    distinct_outputs(*(folder / name for name in ("report.json", "errors.csv", "index.html")), inputs=(gold,))
