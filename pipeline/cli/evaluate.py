"""``evaluate``: the score of an upload file."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import MODELS, distinct_outputs
from pipeline.cli.options import JsonFile, SkipBadRows
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import STDOUT, say, warn_of_rows, write_json
from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pipeline.data.reading import Reading
    from pipeline.data.seen import SeenTexts


@reads_labelled_rows
def evaluate(
    gold: Annotated[Path, typer.Option(help="Labelled articles.", metavar="FILE")],
    submission: Annotated[Path, typer.Option(help="Upload file.", metavar="FILE")],
    json_file: JsonFile = None,
    skip_bad_rows: SkipBadRows = False,
    reading: Reading | None = None,
) -> None:
    """Score an upload file against labelled articles.

    An upload file of predict knows its run: articles that the run was trained on are told.

    Where newsIds occur again, the second row of an id is scored with its second line, and so on.

    Example: python run.py evaluate --gold data/sample/test.jsonl --submission submissions/first.txt
    """
    from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles
    from pipeline.data.repeats import RepeatedIds
    from pipeline.data.seen import article_key, tell_seen
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
    tell_seen(map(article_key, articles), _trained_on(submission), gold, rows="articles")
    if json_file != STDOUT:
        say(format_evaluation(evaluation))
    if json_file:
        distinct_outputs(json_file, inputs=(gold, submission))
        write_json(json_file, evaluation.to_dict())


def _trained_on(submission: Path) -> SeenTexts:
    """Return what the run behind an upload file was trained on, as far as the run is known and still there."""
    from pipeline.artifacts import RunFolder, sha256_file, validate_run_name
    from pipeline.data.seen import SeenTexts
    from pipeline.submission import noted_origin

    origin = noted_origin(submission)
    with suppress(PipelineError):  # the score does not depend on it
        if origin and (run := RunFolder(MODELS / validate_run_name(origin.run))).manifest.is_file():
            return SeenTexts.load(run.path) if sha256_file(run.manifest) == origin.manifest else SeenTexts()
    return SeenTexts()
