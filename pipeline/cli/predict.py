"""``predict``: the answers of a run to articles, from one file to one file, or from many parts to as many."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline import __version__
from pipeline.cli.engine import Engine, EngineName, chunk_map_of
from pipeline.cli.files import MODELS, SUBMISSIONS, default_input, distinct_outputs
from pipeline.cli.options import Limit, RunName, SkipBadRows, Workers
from pipeline.errors import ConfigError

logger = logging.getLogger("pipeline.cli")


def predict(
    run: RunName = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="Articles to answer; with --engine ray also many parts.", metavar="FILE"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(help="Upload file, a CSV is written beside it; for parts a folder of answers.", metavar="FILE"),
    ] = None,
    details: Annotated[
        Path | None, typer.Option(help="Also write mentions and runners-up as JSON lines.", metavar="FILE")
    ] = None,
    join: Annotated[
        Path | None, typer.Option(help="Also join the answers to all parts into an upload file.", metavar="FILE")
    ] = None,
    workers: Workers = None,
    engine: EngineName = Engine.LOCAL,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the same command was stopped or killed.")
    ] = False,
    limit: Limit = None,
    skip_bad_rows: SkipBadRows = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at an article that cannot be answered, instead of leaving it empty.")
    ] = False,
) -> None:
    """Write a submission for a file of articles.

    Example: python run.py predict --run first --input data/sample/test.jsonl --output submissions/first.txt

    With --engine ray --input may also be a folder, a pattern such as 'day-*/*.jsonl', a URI (s3://, gs://, hdfs://), or
    be given several times. Each part is answered into a JSON-lines file of the same name below the folder or URI
    --output; --join makes the upload file of one file that holds all parts.

    Example: python run.py predict --run first --engine ray --input articles/ --output answers/ --join first.txt
    """
    if engine is Engine.RAY and inputs and (len(inputs) > 1 or _is_partitioned(inputs[0])):
        if details:
            raise ConfigError(f"--details {details}: the answers to parts hold the details", hint="leave it out")
        typer.echo(_predict_parts(run, inputs, output, join, workers, limit, skip_bad_rows, resume, strict))
        return
    if join:
        raise ConfigError(f"--join {join}: only answers to parts are joined", hint="name the upload file by --output")
    if inputs and len(inputs) > 1:
        raise ConfigError("--input is given several times", hint="--engine ray reads several files")
    source = Path(inputs[0]) if inputs else default_input()
    if not inputs:
        logger.info("input: %s", source)
    target = Path(output) if output else None
    written = write_predictions(
        run, source, target, details, workers, engine, limit, skip_bad_rows, resume=resume, strict=strict
    )
    typer.echo(str(written))


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
    strict: bool = False,
) -> Path:
    """Answer the articles of a file as ``predict`` does, and return the upload file."""
    from itertools import islice

    from tqdm import tqdm

    from pipeline.artifacts import open_run, sha256_file, stage_key
    from pipeline.data.read import BadRowPolicy, ReadReport, count_rows, iter_articles
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

    from pipeline.workflow.predict import CHUNK_SIZE, predict_stream
    from pipeline.workflow.run_config import load_run_config

    key = stage_key(__version__, sha256_file(source), sha256_file(run.manifest), limit, skip_bad_rows)
    others = [table, *([details] if details else [])]
    journal = PredictionJournal(target, others=others, key=key, chunk_size=CHUNK_SIZE, resume=resume)
    workers = workers or load_run_config(run.config).workers
    with journal, SubmissionWriter(target, details=details) as writer, chunk_map_of(engine, workers) as chunk_map:
        for prediction in journal.done():
            writer.write(prediction)
        rest = islice(articles, journal.n_done, None)
        predictions = predict_stream(run, rest, workers=workers, chunk_map=chunk_map, strict=strict)
        bar = tqdm(predictions, total=total, initial=journal.n_done, desc="predict", unit="article", disable=None)
        for prediction in bar:
            journal.note(prediction)
            writer.write(prediction)
    for warning in report.warnings():
        logger.warning("%s: %s", source, warning)
    return target


def _is_partitioned(name: str) -> bool:
    from pipeline.artifacts import is_pattern

    path = Path(name)
    return "://" in name or path.is_dir() or (is_pattern(name) and not path.is_file())


def _predict_parts(
    name: str | None,
    inputs: Sequence[str],
    output: str | None,
    join: Path | None,
    workers: int | None,
    limit: int | None,
    skip_bad_rows: bool,
    resume: bool,
    strict: bool,
) -> str:
    """Answer every part on Ray; return the upload file if they are joined, else the folder of answers."""
    from pipeline.artifacts import open_run, output_file

    run = open_run(MODELS, name)
    if join:  # found now, not after hours
        distinct_outputs(output_file(join), output_file(join.with_suffix(".csv")))
    logger.info("run: %s", run.path)

    from pipeline.data.read import BadRowPolicy
    from pipeline.runtime.ray_engine import started_ray
    from pipeline.workflow.predict_parts import PartsRequest, join_parts, predict_parts
    from pipeline.workflow.run_config import load_run_config

    workers = workers or load_run_config(run.config).workers
    folder = output or str(SUBMISSIONS / run.name)
    policy = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP
    request = PartsRequest(run, inputs, folder, workers, limit, policy, resume, strict)
    with started_ray(workers, for_data=True) as ray:
        parts = predict_parts(request, ray)
    if join is None:
        return folder
    join_parts(parts, join)
    return str(join)
