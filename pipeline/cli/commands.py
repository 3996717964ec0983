"""Most of the commands. Each is one function; its signature is its options and its docstring its help."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pipeline.cli.engine import Engine, EngineName, chunk_map_of
from pipeline.cli.files import MODELS, SUBMISSIONS, default_train, distinct_outputs, sample
from pipeline.cli.options import (
    Columns,
    Encoding,
    FileFormat,
    LabelNames,
    Limit,
    RunName,
    Set,
    SkipBadRows,
    reading_of,
)
from pipeline.cli.predict import write_predictions
from pipeline.cli.program import program_name
from pipeline.cli.say import STDOUT, EscapingFormatter, say, write_json
from pipeline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pipeline.artifacts import RunFolder
    from pipeline.data.read import Reading, ReadReport
    from pipeline.workflow.train import TrainRequest

logger = logging.getLogger("pipeline.cli")


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write every figure as JSON; - prints JSON in place of the text.", metavar="FILE"),
]


def audit(
    files: Annotated[
        list[Path], typer.Argument(help="Rows of any kind: JSON, CSV, XML, columns; plain or .gz.", metavar="FILE...")
    ],
    json_file: JsonFile = None,
    file_format: FileFormat = None,
    encoding: Encoding = None,
    columns: Columns = None,
    label_map: LabelNames = None,
) -> None:
    """Say what is in the data and what is wrong with it; exit code 3 if rows are malformed.

    Rows may be articles, or have targets, labels, or marked entities; docs/FORMATS.md shows each kind.

    Example: python run.py audit data/sample/train.jsonl data/sample/test.jsonl
    """
    if _audit(files, json_file, reading_of(file_format, encoding, columns, label_map)):
        raise typer.Exit(DataError.exit_code)


def _audit(files: list[Path], json_file: Path | None = None, reading: Reading | None = None) -> bool:
    """Print what is in the files; return whether a row is malformed."""
    from pipeline.data.audit import audit as audit_files
    from pipeline.data.audit import format_audit

    report = audit_files(files, reading)
    if json_file != STDOUT:
        say(format_audit(report))
    if json_file:
        distinct_outputs(json_file, inputs=tuple(files))
        write_json(json_file, report.to_dict())
    return report.n_malformed > 0


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
        bool, typer.Option("--dry-run", help="Say what would be trained, from how much, in how much memory.")
    ] = False,
    engine: EngineName = Engine.LOCAL,
    limit: Limit = None,
    skip_bad_rows: SkipBadRows = False,
    file_format: FileFormat = None,
    encoding: Encoding = None,
    columns: Columns = None,
    label_map: LabelNames = None,
) -> None:
    """Train every stage into models/RUN/.

    With --resume the run's files and options need not be given again; other options are refused, but for workers. With
    --resume and --train all of them count as given now: stages whose options and data are the same are kept.

    Emotions: --set sentiment.members=[ian,af_lstm] names the models that are trained and measured (tfidf, tfidf_words,
    tfidf_nb, any head); --set sentiment.choose=ian+af_lstm those that answer. By default that is what is best
    out-of-fold. majority, the baseline, is measured too, and answers only if it is named. --dry-run says which.

    With --engine ray candidates and features are found on Ray; models are trained on this machine.

    Example: python run.py train --train data/sample/train.jsonl --preset tiny --run first
    """
    given = _Given(
        train_files,
        dev,
        preset,
        config,
        overrides or [],
        limit,
        skip_bad_rows,
        reading_of(file_format, encoding, columns, label_map),
    )
    if dry_run:
        request, _ = _train_request(given, run, resume=resume)  # finds bad rows before imports that take seconds

        from pipeline.workflow.dry_run import plan_training

        say("\n".join(plan_training(request).lines()))
        return
    say(str(_train(given, run, resume=resume, engine=engine).path))


class _Given(NamedTuple):
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


def _train(given: _Given, name: str | None, *, resume: bool = False, engine: Engine = Engine.LOCAL) -> RunFolder:
    request, run = _train_request(given, name, resume=resume)
    with chunk_map_of(engine, request.config.workers) as chunk_map:
        return _train_run(replace(request, chunk_map=chunk_map), run)


def _train_request(given: _Given, name: str | None, *, resume: bool) -> tuple[TrainRequest, RunFolder]:
    """Return what to train, and the run to train it into; nothing is written."""
    from pipeline.artifacts import RunFolder, new_run_name, newest_unfinished
    from pipeline.config import DEFAULT_PRESET, load_config

    preset = given.preset or DEFAULT_PRESET
    command = ["run.py", *sys.argv[1:]]
    if resume and not given.files:
        name = name or newest_unfinished(MODELS).name
        run = RunFolder.named(MODELS, name, resume=True)
        return replace(_resumed(given, run), command=command), run
    config = load_config(preset=preset, file=given.config, overrides=given.overrides)
    files = given.files or [default_train()]
    if not given.files:
        logger.info("training file: %s", files[0])
    _read_through([*files, *([given.dev] if given.dev else [])], given.skip_bad_rows, given.reading)

    from pipeline.workflow.train import TrainRequest

    name = name or (newest_unfinished(MODELS).name if resume else new_run_name(preset))
    run = RunFolder.named(MODELS, name, resume=resume)
    request = TrainRequest(files, config, given.dev, given.limit, given.skip_bad_rows, command=command, preset=preset)
    if given.reading:
        request = replace(request, reading=given.reading)
    return request, run


def _resumed(given: _Given, run: RunFolder) -> TrainRequest:
    """Return the request that a run was begun with.

    Raises:
        PipelineError: it does not say, or something given is not what it was begun with.
    """
    from pipeline.data.read import Reading
    from pipeline.workflow.begun import Begun, stored_config
    from pipeline.workflow.train import TrainRequest

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
        files, config, dev, begun.limit, begun.skip_bad_rows, preset=begun.preset, reading=begun.how_read
    )


def _train_run(request: TrainRequest, run: RunFolder) -> RunFolder:
    from pipeline.workflow.train import train as train_run

    logger.info("run: %s", run.path)
    with _log_file(run.log_text):
        try:
            figures = train_run(request, run)
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


@contextmanager
def _log_file(path: Path) -> Iterator[None]:
    """Keep a copy of every message in the run folder."""
    handler = _LogFile(path, encoding="utf-8", delay=True)
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger("pipeline").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("pipeline").removeHandler(handler)
        with suppress(OSError):  # what a full disk refused
            handler.close()


class _LogFile(logging.FileHandler):
    """A log that a full disk does not turn into a traceback for each message; what matters is on the terminal."""

    def _open(self) -> Any:
        from pipeline.artifacts import open_own

        return open_own(Path(self.baseFilename), "a")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message where there is a run folder: none is made for one that cannot begin."""
        if self.stream is None and not Path(self.baseFilename).parent.is_dir():
            return
        try:
            super().emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Do without the message."""


def check(
    submission: Annotated[Path, typer.Option(help="Upload file.", metavar="FILE")],
    input_file: Annotated[Path, typer.Option("--input", help="The articles it answers.", metavar="FILE")],
    skip_bad_rows: SkipBadRows = False,
    file_format: FileFormat = None,
    encoding: Encoding = None,
    columns: Columns = None,
    label_map: LabelNames = None,
) -> None:
    """Check an upload file against its articles; every problem by line; exit code 3 if there is any.

    Example: python run.py check --submission submissions/first.txt --input data/sample/test.jsonl
    """
    if _check(submission, input_file, skip_bad_rows, reading_of(file_format, encoding, columns, label_map)):
        raise typer.Exit(DataError.exit_code)


def _check(submission: Path, source: Path, skip_bad_rows: bool = False, reading: Reading | None = None) -> bool:
    """Print every problem; return whether there was one."""
    from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles
    from pipeline.submission import check_submission

    policy, report = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP, ReadReport()
    articles = iter_articles(source, labelled=False, policy=policy, report=report, reading=reading)
    ids = [article.news_id for article in articles]
    _warn(source, report)
    problems = check_submission(submission, ids)
    if not problems:
        say(f"{submission}: valid")
        return False
    with suppress(BrokenPipeError):  # a reader that had enough of them changes nothing of the answer
        for problem in problems:
            say(str(problem))
        say(f"{submission}: {len(problems)} problem(s)")
    return True


def _warn(path: Path, report: ReadReport, consequence: str = "") -> None:
    """Tell what reading a file found."""
    repeated = report.repeats.warning(consequence) if report.repeats else None
    for warning in (*report.warnings(), *([repeated] if repeated else [])):
        logger.warning("%s: %s", path, warning)


def evaluate(
    gold: Annotated[Path, typer.Option(help="Labelled articles.", metavar="FILE")],
    submission: Annotated[Path, typer.Option(help="Upload file.", metavar="FILE")],
    json_file: JsonFile = None,
    skip_bad_rows: SkipBadRows = False,
    file_format: FileFormat = None,
    encoding: Encoding = None,
    columns: Columns = None,
    label_map: LabelNames = None,
) -> None:
    """Score an upload file against labelled articles.

    Where newsIds occur again, the second row of an id is scored with its second line, and so on.

    Example: python run.py evaluate --gold data/sample/test.jsonl --submission submissions/first.txt
    """
    from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles
    from pipeline.data.repeats import RepeatedIds
    from pipeline.metric import evaluate as score
    from pipeline.metric import format_evaluation
    from pipeline.schema import occurrence_keys
    from pipeline.submission import read_submission

    report = ReadReport(repeats=RepeatedIds())
    policy = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP
    reading = reading_of(file_format, encoding, columns, label_map)
    articles = list(iter_articles(gold, labelled=True, policy=policy, report=report, reading=reading))
    _warn(gold, report, "the second row of an id is scored with its second line, and so on")
    ids = [article.news_id for article in articles]
    wanted = dict(zip(occurrence_keys(ids), (article.entities or () for article in articles), strict=True))
    evaluation = score(wanted, read_submission(submission, Counter(ids)))
    if json_file != STDOUT:
        say(format_evaluation(evaluation))
    if json_file:
        distinct_outputs(json_file, inputs=(gold, submission))
        write_json(json_file, evaluation.to_dict())


def demo(
    preset: Annotated[str, typer.Option(help="Set of options, as cpu, fast or tiny.", metavar="NAME")] = "fast",
) -> None:
    """Run the whole job on the shipped sample: audit, train, predict, check, evaluate, report.

    Example: python run.py demo
    """
    from pipeline.artifacts import new_run_name
    from pipeline.cli.report import report_paths, write_report

    train_file, dev_file, test_file = (sample(name) for name in ("train.jsonl", "dev.jsonl", "test.jsonl"))
    _headline("audit")
    _audit([train_file, dev_file, test_file])
    _headline("train")
    run = _train(_Given([train_file], dev_file, preset), new_run_name(f"demo-{preset}"))
    say(f"run folder: {run.path}")
    _headline("predict")
    details = SUBMISSIONS / f"{run.name}.details.jsonl"
    submission = write_predictions(run.name, test_file, None, details, None, Engine.LOCAL, None, False)
    say(f"upload file: {submission}\ntable: {submission.with_suffix('.csv')}\ndetails: {details}")
    _headline("check")
    failed = _check(submission, test_file)
    _headline("evaluate")
    evaluate(test_file, submission, run.path / "report" / "test.json")
    say(f"figures: {run.path / 'report' / 'test.json'}")
    _headline("report")
    say(report_paths(write_report(run.name, test_file)))
    if failed:
        raise typer.Exit(DataError.exit_code)


def _headline(title: str) -> None:
    say(f"\n== {title} ==")
