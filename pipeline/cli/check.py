"""``check``: an upload file against its articles."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.options import SkipBadRows
from pipeline.cli.row_options import reads_rows
from pipeline.cli.say import say, warn_of_rows
from pipeline.errors import DataError

if TYPE_CHECKING:
    from pipeline.data.read import Reading


@reads_rows
def check(
    submission: Annotated[Path, typer.Option(help="Upload file.", metavar="FILE")],
    input_file: Annotated[Path, typer.Option("--input", help="The articles it answers.", metavar="FILE")],
    skip_bad_rows: SkipBadRows = False,
    reading: Reading | None = None,
) -> None:
    """Check an upload file against its articles; every problem by line; exit code 3 if there is any.

    Example: python run.py check --submission submissions/first.txt --input data/sample/test.jsonl
    """
    if has_problems(submission, input_file, skip_bad_rows, reading):
        raise typer.Exit(DataError.exit_code)


def has_problems(submission: Path, source: Path, skip_bad_rows: bool = False, reading: Reading | None = None) -> bool:
    """Print every problem; return whether there was one."""
    from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles
    from pipeline.submission import check_submission

    policy, report = BadRowPolicy.SKIP if skip_bad_rows else BadRowPolicy.STOP, ReadReport()
    articles = iter_articles(source, labelled=False, policy=policy, report=report, reading=reading)
    ids = [article.news_id for article in articles]
    warn_of_rows(source, report)
    problems = check_submission(submission, ids)
    if not problems:
        say(f"{submission}: valid")
        return False
    with suppress(BrokenPipeError):  # a reader that had enough of them changes nothing of the answer
        for problem in problems:
            say(str(problem))
        say(f"{submission}: {len(problems)} problem(s)")
    return True
