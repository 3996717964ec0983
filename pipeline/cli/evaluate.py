"""``evaluate``: the score of an upload file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import distinct_outputs
from pipeline.cli.options import JsonFile, SkipBadRows
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import STDOUT, say, warn_of_rows, write_json

if TYPE_CHECKING:
    from pipeline.data.reading import Reading


@reads_labelled_rows
def evaluate(
    gold: Annotated[Path, typer.Option(help="Labelled articles.", metavar="FILE")],
    submission: Annotated[Path, typer.Option(help="Upload file.", metavar="FILE")],
    json_file: JsonFile = None,
    skip_bad_rows: SkipBadRows = False,
    reading: Reading | None = None,
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
    articles = list(iter_articles(gold, labelled=True, policy=policy, report=report, reading=reading))
    warn_of_rows(gold, report, "the second row of an id is scored with its second line, and so on")
    ids = [article.news_id for article in articles]
    wanted = dict(zip(occurrence_keys(ids), (article.entities or () for article in articles), strict=True))
    evaluation = score(wanted, read_submission(submission, Counter(ids)))
    if json_file != STDOUT:
        say(format_evaluation(evaluation))
    if json_file:
        distinct_outputs(json_file, inputs=(gold, submission))
        write_json(json_file, evaluation.to_dict())
