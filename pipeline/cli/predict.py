"""``predict``: the answers of a run to articles, from one file to one file, or from many parts to as many."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline import __version__
from pipeline.cli.engine import Engine, EngineName, chunk_map_of
from pipeline.cli.files import SUBMISSIONS, default_input, distinct_outputs, readable_run
from pipeline.cli.options import CsvBom, Limit, SkipBadRows, Workers
from pipeline.cli.row_options import reads_rows
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

CONVERT = "python run.py convert IN OUT"
"""Makes rows of ours of a file that a command does not take options for."""

if TYPE_CHECKING:
    from pipeline.config import EncoderEngine
    from pipeline.data.read import Reading
    from pipeline.schema import Article

logger = logging.getLogger("pipeline.cli")


@reads_rows
def predict(
    run: Annotated[
        str | None,
        typer.Option("--run", help="Run under models/, or the URI of one elsewhere (s3://, file://).", metavar="NAME"),
    ] = None,
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
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that hold other answers, or whose origin is not known.")
    ] = False,
    csv_bom: CsvBom = False,
    encoder_engine: Annotated[
        Literal["auto", "openvino", "torch"] | None,
        typer.Option(help="What runs the tagger's encoder; by default what the run says (engine.encoder)."),
    ] = None,
    reading: Reading | None = None,
) -> None:
    """Write a submission for a file of articles.

    Files that hold the answers of another run or to other articles are overwritten with --force alone.

    Example: python run.py predict --run first --input data/sample/test.jsonl --output submissions/first.txt

    With --engine ray --input may also be a folder, a pattern such as 'day-*/*.jsonl', a URI (s3://, gs://, hdfs://), or
    be given several times. Each part is answered into a JSON-lines file of the same name below the folder or URI
    --output; --join makes the upload file of one file that holds all parts. The workers of a cluster (RAY_ADDRESS) get
    the run from this process.

    Example: python run.py predict --run first --engine ray --input articles/ --output answers/ --join first.txt
    """
    if encoder_engine == "openvino":
        from pipeline.nn.openvino_engine import may_convert

        may_convert(encoder_engine)  # better now than in a worker
    if engine is Engine.RAY and inputs and (len(inputs) > 1 or _is_partitioned(inputs[0])):
        if details:
            raise ConfigError(f"--details {details}: the answers to parts hold the details", hint="leave it out")
        say(
            _predict_parts(
                *(run, inputs, output, join, workers, limit, skip_bad_rows, reading, encoder_engine),
                resume=resume,
                strict=strict,
                force=force,
            )
        )
        return
    if join:
        raise ConfigError(f"--join {join}: only answers to parts are joined", hint="name the upload file by --output")
    if inputs and len(inputs) > 1:
        raise ConfigError("--input is given several times", hint="--engine ray reads several files")
    source = Path(inputs[0]) if inputs else default_input()
    if source.is_dir():
        raise DataError(f"{source}: is a folder, not a file", hint="predict --engine ray reads a folder of parts")
    if not inputs:
        logger.info("input: %s", source)
    target = Path(output) if output else None
    written = write_predictions(
        *(run, source, target, details, workers, engine, limit, skip_bad_rows),
        resume=resume,
        strict=strict,
        force=force,
        reading=reading,
        csv_bom=csv_bom,
        encoder_engine=encoder_engine,
    )
    say(str(written))


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
    force: bool = False,
    reading: Reading | None = None,
    csv_bom: bool = False,
    encoder_engine: EncoderEngine | None = None,
) -> Path:
    """Answer the articles of a file as ``predict`` does, and return the upload file."""
    from itertools import islice

    from tqdm import tqdm

    from pipeline.artifacts import sha256_file, stage_key
    from pipeline.data.read import BadRowPolicy, Reading, ReadReport, count_rows, iter_articles
    from pipeline.data.repeats import RepeatedIds
    from pipeline.data.seen import SeenRows, SeenTexts, article_key
    from pipeline.submission import Origin, PredictionJournal, SubmissionWriter, note_origin, refuse_other_answers

    repeats = RepeatedIds()
    report = ReadReport(repeats=repeats)
    policy = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP
    read = iter_articles(source, labelled=False, policy=policy, report=report, reading=reading)
    articles: Iterator[Article] = islice(read, limit)
    total = min(count_rows(source), limit or sys.maxsize)
    run = readable_run(name)
    articles = SeenRows(SeenTexts.load(run.path), source, rows="articles").watch(articles, article_key)
    target = output or SUBMISSIONS / f"{run.name}.txt"
    table = target.parent / f"{target.stem}.csv"
    distinct_outputs(target, table, details, inputs=(source,))
    logger.info("run: %s", run.path)
    origin, digest = Origin(run.name, sha256_file(run.manifest), str(source)), sha256_file(source)
    others = [table, *([details] if details else [])]
    if not (force or resume):
        again = islice(iter_articles(source, labelled=False, policy=policy, reading=reading), limit)
        refuse_other_answers(origin, target, others, (article.news_id for article in again))

    from pipeline.workflow.predict_stream import CHUNK_SIZE, predict_stream
    from pipeline.workflow.run_config import load_run_config

    how: list[object] = [] if reading in (None, Reading()) else [reading.to_dict()]
    how += [encoder_engine] if encoder_engine else []
    key = stage_key(__version__, digest, origin.manifest, limit, skip_bad_rows, *how)
    about = {
        "run": f"{run.name} {origin.manifest[:12]}",
        "input": f"{source} {digest[:12]}",
        "limit": str(limit),
        "bad rows": policy.value,
    }
    journal = PredictionJournal(target, others=others, key=key, chunk_size=CHUNK_SIZE, resume=resume, about=about)
    workers = workers or load_run_config(run.config).workers
    with (
        journal,
        SubmissionWriter(target, details=details, csv_bom=csv_bom) as writer,
        chunk_map_of(engine, workers) as chunk_map,
    ):
        for prediction in journal.done():
            writer.write(prediction)
        rest = islice(articles, journal.n_done, None)
        predictions = predict_stream(
            run, rest, workers=workers, chunk_map=chunk_map, strict=strict, encoder_engine=encoder_engine
        )
        bar = tqdm(predictions, total=total, initial=journal.n_done, desc="predict", unit="article", disable=None)
        for prediction in bar:
            journal.note(prediction)
            writer.write(prediction)
        if sha256_file(source) != digest:
            raise DataError(f"{source}: changed while it was read, so nothing was written")
    note_origin(origin, target, others)
    if warning := repeats.warning("each is answered on its own line"):
        logger.warning("%s", warning)
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
    reading: Reading | None,
    encoder_engine: EncoderEngine | None,
    *,
    resume: bool,
    strict: bool,
    force: bool,
) -> str:
    """Answer every part on Ray; return the upload file if they are joined, else the folder of answers."""
    from pipeline.artifacts import output_file, sha256_file
    from pipeline.submission import Origin, note_origin, refuse_other_answers

    if reading and (reading.columns or reading.encoding or reading.format):
        raise ConfigError(
            "--format, --encoding and --columns: parts are read as they are", hint=f"{CONVERT} --to articles"
        )
    run = readable_run(name)
    origin = Origin(run.name, sha256_file(run.manifest), " ".join(inputs))
    if join:  # found now, not after hours
        table = join.parent / f"{join.stem}.csv"
        distinct_outputs(output_file(join), output_file(table))
        if not (force or resume):
            refuse_other_answers(origin, join, [table], None)
    logger.info("run: %s", run.path)

    from pipeline.data.read import BadRowPolicy
    from pipeline.runtime.ray_engine import started_ray
    from pipeline.workflow.predict_parts import PartsRequest, join_parts, predict_parts
    from pipeline.workflow.run_config import load_run_config

    workers = workers or load_run_config(run.config).workers
    folder = output or str(SUBMISSIONS / run.name)
    policy = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP
    request = PartsRequest(run, inputs, folder, workers, limit, policy, resume, strict, encoder_engine)
    with started_ray(workers, for_data=True) as ray:
        parts = predict_parts(request, ray)
    if join is None:
        return folder
    join_parts(parts, join)
    note_origin(origin, join, [table])
    return str(join)
