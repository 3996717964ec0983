"""``demo``: every command of the whole job, on the sample."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.audit import show_audit
from pipeline.cli.check import has_problems
from pipeline.cli.engine import Engine
from pipeline.cli.evaluate import evaluate
from pipeline.cli.files import SUBMISSIONS, sample
from pipeline.cli.predict import write_predictions
from pipeline.cli.say import say
from pipeline.cli.train import Given, train_run
from pipeline.errors import DataError


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
    show_audit([train_file, dev_file, test_file])
    _headline("train")
    run = train_run(Given([train_file], dev_file, preset), new_run_name(f"demo-{preset}"))
    say(f"run folder: {run.path}")
    _headline("predict")
    details = SUBMISSIONS / f"{run.name}.details.jsonl"
    submission = write_predictions(run.name, test_file, None, details, None, Engine.LOCAL, None, False)
    say(f"upload file: {submission}\ntable: {submission.with_suffix('.csv')}\ndetails: {details}")
    _headline("check")
    failed = has_problems(submission, test_file)
    _headline("evaluate")
    evaluate(test_file, submission, run.path / "report" / "test.json")
    say(f"figures: {run.path / 'report' / 'test.json'}")
    _headline("report")
    say(report_paths(write_report(run.name, test_file)))
    if failed:
        raise typer.Exit(DataError.exit_code)


def _headline(title: str) -> None:
    say(f"\n== {title} ==")
