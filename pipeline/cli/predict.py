"""``predict``: the answers of a run to a file of articles."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline import __version__
from pipeline.cli.files import MODELS, SUBMISSIONS, default_input, distinct_outputs
from pipeline.cli.options import Limit, RunName, SkipBadRows, Workers

logger = logging.getLogger("pipeline.cli")


class Engine(StrEnum):
    """What runs the workers of a prediction."""

    LOCAL = "local"
    RAY = "ray"


def predict(
    run: RunName = None,
    input_file: Annotated[Path | None, typer.Option("--input", help="Articles to answer.", metavar="FILE")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Upload file; a CSV is written beside it.", metavar="FILE")
    ] = None,
    details: Annotated[
        Path | None, typer.Option(help="Also write mentions and runners-up as JSON lines.", metavar="FILE")
    ] = None,
    workers: Workers = None,
    engine: Annotated[
        Engine, typer.Option(help="What runs the workers; ray starts here, or joins the cluster of RAY_ADDRESS.")
    ] = Engine.LOCAL,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the same command was stopped or killed.")
    ] = False,
    limit: Limit = None,
    skip_bad_rows: SkipBadRows = False,
) -> None:
    """Write a submission for a file of articles.

    Example: python run.py predict --run first --input data/sample/test.jsonl --output submissions/first.txt
    """
    source = input_file or default_input()
    if input_file is None:
        logger.info("input: %s", source)
    typer.echo(
        str(write_predictions(run, source, output, details, workers, engine, limit, skip_bad_rows, resume=resume))
    )


def write_predictions(
    name: str | None,
    source: Path,
    output: Path | None,
    details: Path | None,
    workers: int | None,
    engine: Engine,
    limit: int | None,
    skip_bad_rows: bool,
    *,
    resume: bool = False,
) -> Path:
    """Answer the articles of a file as ``predict`` does, and return the upload file."""
    from itertools import islice

    from tqdm import tqdm

    from pipeline.artifacts import open_run, sha256_file, stage_key
    from pipeline.read import BadRowPolicy, ReadReport, count_rows, iter_articles
    from pipeline.submission import PredictionJournal, SubmissionWriter

    report = ReadReport()
    policy = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP
    articles = islice(iter_articles(source, labelled=False, policy=policy, report=report), limit)
    total = min(count_rows(source), limit or sys.maxsize)
    run = open_run(MODELS, name)
    target = output or SUBMISSIONS / f"{run.name}.txt"
    table = target.parent / f"{target.stem}.csv"
    distinct_outputs(target, table, details, inputs=(source,))
    logger.info("run: %s", run.path)

    from pipeline.workflow.predict import CHUNK_SIZE
    from pipeline.workflow.run_config import load_run_config

    if engine is Engine.RAY:
        from pipeline.workflow.ray_predict import predict_on_ray as predict_stream
    else:
        from pipeline.workflow.predict import predict_stream

    key = stage_key(__version__, sha256_file(source), sha256_file(run.manifest), limit, skip_bad_rows)
    others = [table, *([details] if details else [])]
    journal = PredictionJournal(target, others=others, key=key, chunk_size=CHUNK_SIZE, resume=resume)
    with journal, SubmissionWriter(target, details=details) as writer:
        for prediction in journal.done():
            writer.write(prediction)
        rest = islice(articles, journal.n_done, None)
        predictions = predict_stream(run, rest, workers=workers or load_run_config(run.config).workers)
        bar = tqdm(predictions, total=total, initial=journal.n_done, desc="predict", unit="article", disable=None)
        for prediction in bar:
            journal.note(prediction)
            writer.write(prediction)
    for warning in report.warnings():
        logger.warning("%s: %s", source, warning)
    return target
