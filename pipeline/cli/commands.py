"""Most of the commands. Each is one function; its signature is its options and its docstring its help."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.engine import Engine, EngineName, chunk_map_of
from pipeline.cli.files import MODELS, SUBMISSIONS, default_train, distinct_outputs, sample
from pipeline.cli.options import Limit, RunName, Set, SkipBadRows
from pipeline.cli.predict import write_predictions
from pipeline.cli.program import program_name
from pipeline.cli.say import STDOUT, EscapingFormatter, say, write_json
from pipeline.errors import DataError

if TYPE_CHECKING:
    from pipeline.artifacts import RunFolder
    from pipeline.data.read import ReadReport
    from pipeline.workflow.train import TrainRequest

logger = logging.getLogger("pipeline.cli")


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write every figure as JSON; - prints JSON in place of the text.", metavar="FILE"),
]


def audit(
    files: Annotated[list[Path], typer.Argument(help="JSON lines, plain or .gz.", metavar="FILE...")],
    json_file: JsonFile = None,
) -> None:
    """Say what is in the data and what is wrong with it.

    Example: python run.py audit data/sample/train.jsonl data/sample/test.jsonl
    """
    from pipeline.data.audit import audit as audit_files
    from pipeline.data.audit import format_audit

    report = audit_files(files)
    if json_file != STDOUT:
        say(format_audit(report))
    if json_file:
        distinct_outputs(json_file, inputs=tuple(files))
        write_json(json_file, report.to_dict())


def train(
    train_files: Annotated[
        list[Path] | None,
        typer.Option("--train", help="Labelled articles; may be given several times.", metavar="FILE"),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled articles to score the finished run on.", metavar="FILE")
    ] = None,
    preset: Annotated[str, typer.Option(help="Set of options: best, cpu, fast, full, tiny.", metavar="NAME")] = "cpu",
    config: Annotated[Path | None, typer.Option(help="YAML file of options.", metavar="FILE")] = None,
    overrides: Set = None,
    run: RunName = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be trained, from how much, in how much memory.")
    ] = False,
    engine: EngineName = Engine.LOCAL,
    limit: Limit = None,
    skip_bad_rows: SkipBadRows = False,
) -> None:
    """Train every stage into models/RUN/.

    With --engine ray candidates and features are found on Ray; models are trained on this machine.

    Example: python run.py train --train data/sample/train.jsonl --preset tiny --run first
    """
    files = train_files or [default_train()]
    if train_files is None:
        logger.info("training file: %s", files[0])
    if dry_run:
        _plan(files, dev, preset, config, overrides or [], limit, skip_bad_rows)
        return
    trained = _train(files, dev, preset, config, overrides or [], run, resume, limit, skip_bad_rows, engine)
    say(str(trained.path))


def _plan(
    files: list[Path],
    dev: Path | None,
    preset: str,
    file: Path | None,
    overrides: list[str],
    limit: int | None,
    skip_bad_rows: bool,
) -> None:
    from pipeline.config import load_config

    config = load_config(preset=preset, file=file, overrides=overrides)
    _read_through([*files, *([dev] if dev else [])], skip_bad_rows)

    from pipeline.workflow.dry_run import plan_training
    from pipeline.workflow.train import TrainRequest

    plan = plan_training(TrainRequest(files, config, dev, limit=limit, skip_bad_rows=skip_bad_rows))
    say("\n".join(plan.lines()))


def _read_through(files: list[Path], skip_bad_rows: bool) -> None:
    """Find malformed rows before imports that take seconds.

    Raises:
        DataError: a file cannot be read, or holds one.
    """
    from pipeline.data.read import BadRowPolicy, iter_articles

    for path in files:
        if not path.exists():
            raise DataError(f"{path}: no such file")
    for path in files:
        for _ in iter_articles(path, labelled=True, policy=BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP):
            pass


def _train(
    files: list[Path],
    dev: Path | None,
    preset: str,
    config_file: Path | None,
    overrides: list[str],
    name: str | None,
    resume: bool,
    limit: int | None,
    skip_bad_rows: bool,
    engine: Engine = Engine.LOCAL,
) -> RunFolder:
    from pipeline.config import load_config

    config = load_config(preset=preset, file=config_file, overrides=overrides)
    _read_through([*files, *([dev] if dev else [])], skip_bad_rows)

    from pipeline.artifacts import new_run_name, newest_unfinished
    from pipeline.workflow.train import TrainRequest

    name = name or (newest_unfinished(MODELS).name if resume else new_run_name(preset))
    command = ["run.py", *sys.argv[1:]]
    with chunk_map_of(engine, config.workers) as chunk_map:
        request = TrainRequest(
            files, config, dev, limit, skip_bad_rows, command=command, preset=preset, chunk_map=chunk_map
        )
        return _train_run(request, name, resume=resume)


def _train_run(request: TrainRequest, name: str, *, resume: bool) -> RunFolder:
    from pipeline.artifacts import RunFolder
    from pipeline.workflow.train import train as train_run

    run = RunFolder.create(MODELS, name, resume=resume)
    logger.info("run: %s", run.path)
    with _log_file(run.log_text):
        try:
            figures = train_run(request, run)
        except KeyboardInterrupt:
            logger.warning(
                "stages finished so far are kept; go on with: %s train ... --run %s --resume", program_name(), name
            )
            raise
        _report_training(figures)
    return run


def _report_training(figures: dict[str, Any]) -> None:
    rerank, oof = figures["rerank"], figures["out_of_fold"]
    logger.info(
        "candidates: %.0f an article, recall %.3f", rerank["candidates_per_article"], rerank["candidate_recall"]
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

    def handleError(self, record: logging.LogRecord) -> None:
        """Do without the message."""


def check(
    submission: Annotated[Path, typer.Option(help="Upload file.", metavar="FILE")],
    input_file: Annotated[Path, typer.Option("--input", help="The articles it answers.", metavar="FILE")],
    skip_bad_rows: SkipBadRows = False,
) -> None:
    """Check an upload file against its articles; every problem by line; exit code 3 if there is any.

    Example: python run.py check --submission submissions/first.txt --input data/sample/test.jsonl
    """
    if _check(submission, input_file, skip_bad_rows):
        raise typer.Exit(DataError.exit_code)


def _check(submission: Path, source: Path, skip_bad_rows: bool = False) -> bool:
    """Print every problem; return whether there was one."""
    from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles
    from pipeline.submission import check_submission

    policy, report = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP, ReadReport()
    ids = [article.news_id for article in iter_articles(source, labelled=False, policy=policy, report=report)]
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
    articles = list(iter_articles(gold, labelled=True, policy=policy, report=report))
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
    audit([train_file, dev_file, test_file])
    _headline("train")
    run = _train([train_file], dev_file, preset, None, [], new_run_name(f"demo-{preset}"), False, None, False)
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
