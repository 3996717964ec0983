"""``compare runs``: which answers of two runs differ, and why."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import chosen_run, distinct_outputs
from pipeline.cli.options import Limit, Workers
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import STDOUT, say, write_json

if TYPE_CHECKING:
    from pipeline.data.reading import Reading


@reads_labelled_rows
def runs(
    run: Annotated[str, typer.Option("--run", help="Run under models/ to compare with.", metavar="NAME")],
    other: Annotated[str, typer.Option(help="Run under models/ that may be better.", metavar="NAME")],
    gold: Annotated[Path, typer.Option(help="Labelled articles that neither was trained on.", metavar="FILE")],
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Also write figures and every changed article; - prints.", metavar="FILE"),
    ] = None,
    limit: Limit = None,
    workers: Workers = None,
    reading: Reading | None = None,
) -> None:
    """Compare two runs on the same articles: paired differences, and what became of each gold entity.

    Example: python run.py compare runs --run first --other second --gold data/sample/test.jsonl
    """
    from pipeline.data.read import iter_articles
    from pipeline.data.seen import SeenTexts, article_key, tell_seen

    articles = list(islice(iter_articles(gold, labelled=True, reading=reading), limit))
    base, candidate = (chosen_run(name) for name in (run, other))
    for one in (base, candidate):
        whose = f"a training row of {one.name}"
        tell_seen(map(article_key, articles), SeenTexts.load(one.path), gold, rows="articles", whose=whose)
    if json_file is not None:
        distinct_outputs(json_file, inputs=(gold,))

    from pipeline.report.compare_runs import compare_runs
    from pipeline.report.terminal import comparison_text
    from pipeline.workflow.run_config import load_run_config

    n_workers = workers or load_run_config(base.config).workers
    figures, changed = compare_runs(base, candidate, articles, workers=n_workers)
    if json_file != STDOUT:
        say(comparison_text(figures, changed))
    if json_file is not None:
        write_json(json_file, {**figures, "changed": changed})
