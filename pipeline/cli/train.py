"""``train``: every stage, into a run folder."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pipeline.cli.engine import Engine, EngineName, maps_of
from pipeline.cli.files import MODELS, default_train
from pipeline.cli.options import Limit, RunName, Set, SkipBadRows
from pipeline.cli.program import program_name
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.run_log import log_file
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pipeline.artifacts import RunFolder
    from pipeline.data.read import Reading
    from pipeline.workflow.train_request import TrainRequest

logger = logging.getLogger("pipeline.cli")


@reads_labelled_rows
def train(
    train_files: Annotated[
        list[Path] | None,
        typer.Option("--train", help="Labelled articles; may be given several times.", metavar="FILE"),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled articles to score the finished run on.", metavar="FILE")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Set of options: best, cpu, fast, full, paper, paper-joint, tiny; cpu by default.", metavar="NAME"
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    run: RunName = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run, with its own files and options.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be trained, in how many minutes and how much memory.")
    ] = False,
    engine: EngineName = Engine.LOCAL,
    limit: Limit = None,
    skip_bad_rows: SkipBadRows = False,
    reading: Reading | None = None,
) -> None:
    """Train every stage into models/RUN/.

    With --resume the run's files and options need not be given again; other options are refused, but for workers. With
    --resume and --train the files are those given now, --set changes options of the run, and --preset or --config
    begin with other options: stages whose options and data are the same are kept.

    Emotions: --set sentiment.members=[ian,af_lstm] names the models that are trained and measured (tfidf, tfidf_words,
    tfidf_nb, any head); --set sentiment.choose=ian+af_lstm those that answer. By default that is what is best
    out-of-fold. majority, the baseline, is measured too, and answers only if it is named. --dry-run says which.

    --set budget.minutes=90 lets the training choose how much it learns from, so that it fits the time, and say so; what
    is given with --set or --config stays. --dry-run tells the choice, with minutes and memory of each stage.

    With --engine ray candidates and features are found, and the models trained, on Ray.

    Example: python run.py train --train data/sample/train.jsonl --preset tiny --run first
    """
    given = Given(
        train_files,
        dev,
        preset,
        config,
        overrides or [],
        limit,
        skip_bad_rows,
        reading,
    )
    if dry_run:
        request, _ = _train_request(given, run, resume=resume)  # finds bad rows before imports that take seconds

        from pipeline.workflow.dry_run import plan_training

        say("\n".join(plan_training(request, calibrated=True).lines()))
        return
    say(str(train_run(given, run, resume=resume, engine=engine).path))


class Given(NamedTuple):
    """Files and options as the command line has them."""

    files: list[Path] | None
    dev: Path | None = None
    preset: str | None = None
    config: Path | None = None
    overrides: Sequence[str] = ()
    limit: int | None = None
    skip_bad_rows: bool = False
    reading: Reading | None = None


def _read_through(files: Iterable[Path], skip_bad_rows: bool, reading: Reading | None) -> None:
    """Find malformed rows before imports that take seconds.

    Raises:
        DataError: a file cannot be read, or holds one.
    """
    from pipeline.data.read import BadRowPolicy, iter_articles

    for path in files:
        if not path.exists():
            raise DataError(f"{path}: no such file")
    policy = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP
    for path in files:
        for _ in iter_articles(path, labelled=True, policy=policy, reading=reading):
            pass


def train_run(given: Given, name: str | None, *, resume: bool = False, engine: Engine = Engine.LOCAL) -> RunFolder:
    """Train into a run folder, and return it."""
    request, run = _train_request(given, name, resume=resume)
    with maps_of(engine, request.config.workers) as (chunk_map, training_map):
        return _work(replace(request, chunk_map=chunk_map, training_map=training_map), run)


def _train_request(given: Given, name: str | None, *, resume: bool) -> tuple[TrainRequest, RunFolder]:
    """Return what to train, and the run to train it into; nothing is written."""
    from pipeline.artifacts import RunFolder, new_run_name, newest_unfinished
    from pipeline.config import DEFAULT_PRESET, load_given

    preset = given.preset or DEFAULT_PRESET
    command = ["run.py", *sys.argv[1:]]
    if resume and not given.files:
        name = name or newest_unfinished(MODELS).name
        run = RunFolder.named(MODELS, name, resume=True)
        return replace(_resumed(given, run), command=command), run
    config, named = load_given(preset=preset, file=given.config, overrides=given.overrides)
    files = given.files or [default_train()]
    if not given.files:
        logger.info("training file: %s", files[0])
    _read_through([*files, *([given.dev] if given.dev else [])], given.skip_bad_rows, given.reading)

    from pipeline.workflow.begun import Begun, own_config
    from pipeline.workflow.train_request import TrainRequest

    name = name or (newest_unfinished(MODELS).name if resume else new_run_name(preset))
    run = RunFolder.named(MODELS, name, resume=resume)
    request = TrainRequest(files, config, given.dev, given.limit, given.skip_bad_rows, command=command, preset=preset)
    if resume and run.config.is_file() and given.preset is None and given.config is None:
        begun = Begun.load(run) if run.request.is_file() else None
        request = replace(
            request,
            config=own_config(run, given.overrides),
            preset=begun.preset if begun else None,
            planned=begun.planned if begun else {},
        )
    request = replace(request, given=named)
    if given.reading:
        request = replace(request, reading=given.reading)
    return request, run


def _resumed(given: Given, run: RunFolder) -> TrainRequest:
    """Return the request that a run was begun with.

    Raises:
        PipelineError: it does not say, or something given is not what it was begun with.
    """
    from pipeline.data.read import Reading
    from pipeline.workflow.begun import Begun, stored_config
    from pipeline.workflow.train_request import TrainRequest

    begun = Begun.load(run)
    config = stored_config(run, begun, preset=given.preset, file=given.config, overrides=given.overrides)
    if given.limit not in (None, begun.limit):
        raise ConfigError(f"--limit {given.limit}: {run.path} was begun with {begun.limit or 'no limit'}")
    if given.skip_bad_rows and not begun.skip_bad_rows:
        raise ConfigError(f"--skip-bad-rows: {run.path} was begun without it")
    if given.reading not in (None, Reading(), begun.how_read):
        raise ConfigError(f"--format, --encoding, --columns, --label-map: not those that {run.path} was begun with")
    dev = given.dev or (Path(begun.dev) if begun.dev else None)
    files = begun.files(run)
    logger.info(
        "going on with %s: preset %s, %s",
        run.path,
        begun.preset or "none",
        ", ".join(map(str, [*files, *filter(None, [dev])])),
    )
    return TrainRequest(
        files,
        config,
        dev,
        begun.limit,
        begun.skip_bad_rows,
        preset=begun.preset,
        reading=begun.how_read,
        planned=begun.planned,
    )


def _work(request: TrainRequest, run: RunFolder) -> RunFolder:
    from pipeline.workflow.train import train as train_stages

    logger.info("run: %s", run.path)
    with log_file(run.log_text):
        try:
            figures = train_stages(request, run)
        except KeyboardInterrupt:
            if run.request.is_file():
                hint = "stages finished so far are kept; go on with: %s train --run %s --resume"
                logger.warning(hint, program_name(), run.name)
            raise
        _report_training(figures)
    return run


def _report_training(figures: dict[str, Any]) -> None:
    rerank, oof = figures["rerank"], figures["out_of_fold"]
    logger.info(
        "candidates: %.0f per article, recall %.3f", rerank["candidates_per_article"], rerank["candidate_recall"]
    )
    logger.info("emotion model: %s", figures["sentiment"]["chosen"])
    for name, scores in (("out-of-fold", oof), ("dev", figures.get("dev"))):
        if scores:
            logger.info(
                "%s: entity F1 %.4f, emotion F1 %.4f, score %.4f",
                name,
                scores["entity_f1"],
                scores["emotion_f1"],
                scores["score"],
            )
