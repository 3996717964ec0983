"""Files of articles, one row at a time, strict about what is wrong with a row."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pipeline.artifacts import AnyFile
from pipeline.data.articles import align_gold, parse_article
from pipeline.data.formats.registry import iter_objects, iter_records
from pipeline.data.labels import LabelReader
from pipeline.data.lines import MAX_LINE_BYTES, count_rows, iter_lines, tell
from pipeline.data.read_report import MAX_PROBLEMS, BadRow, Finding, ReadReport
from pipeline.data.reading import Reading
from pipeline.data.repeats import RepeatedIds
from pipeline.errors import DataError
from pipeline.schema import Article
from pipeline.text.script import ScriptCount

__all__ = [
    "MAX_LINE_BYTES",
    "MAX_PROBLEMS",
    "BadRow",
    "BadRowPolicy",
    "Finding",
    "ReadReport",
    "Reading",
    "align_gold",
    "count_rows",
    "iter_articles",
    "iter_json_objects",
    "iter_lines",
    "iter_rows",
    "parse_article",
    "read_training",
]

logger = logging.getLogger(__name__)


class BadRowPolicy(StrEnum):
    """What a malformed row does: stop the run, or be counted and left out."""

    STOP = "stop"
    SKIP = "skip"


def iter_articles(
    path: AnyFile,
    *,
    labelled: bool | None = None,
    policy: BadRowPolicy = BadRowPolicy.STOP,
    report: ReadReport | None = None,
    may_be_empty: bool = False,
    reading: Reading | None = None,
) -> Iterator[Article]:
    """Yield the articles of a file in order, holding one row in memory.

    Args:
        path: JSON lines, a JSON array or a table, plain or gzip.
        labelled: True demands labels, False ignores them (prediction must not see them), None takes what is there.
        policy: whether malformed rows stop the run or are counted.
        report: is filled while reading.
        may_be_empty: whether a file without a row is fine, such as an empty part of a larger data set.
        reading: format, encoding, columns and labels where they are not to be recognised.

    Raises:
        DataError: the file cannot be read or holds no article, or (policy STOP) rows are malformed. From
            the first malformed row on nothing is yielded; the rest is scanned so that the error can list the others.
    """
    report = ReadReport() if report is None else report
    n_read = 0
    bad_rows: list[BadRow] = []
    for row in iter_rows(path, labelled=labelled, report=report, reading=reading):
        if isinstance(row, BadRow):
            bad_rows.append(row)
            if policy is BadRowPolicy.STOP and len(bad_rows) == MAX_PROBLEMS:
                break
            del bad_rows[MAX_PROBLEMS:]
        elif policy is BadRowPolicy.SKIP or not bad_rows:
            n_read += 1
            yield row
    if bad_rows and (policy is BadRowPolicy.STOP or n_read == 0):
        raise _bad_rows_error(bad_rows)
    if n_read == 0 and not may_be_empty:
        raise DataError(f"{path}: the file is empty, it holds no article")


def read_training(
    paths: Sequence[Path],
    *,
    policy: BadRowPolicy = BadRowPolicy.STOP,
    report: ReadReport | None = None,
    reading: Reading | None = None,
) -> list[Article]:
    """Read the labelled articles of several files. Of articles with one newsId and one text the first is kept.

    What was mended or left out is logged, one warning for each kind. A newsId that stands for two texts makes the
    later row a malformed one.

    Raises:
        DataError: as ``iter_articles``, there is no file, or (policy STOP) a newsId stands for two texts.
    """
    if not paths:
        raise DataError("no training file was given")
    report = ReadReport() if report is None else report
    repeats = report.repeats = RepeatedIds()
    articles: list[Article] = []
    for path in paths:
        for article in iter_articles(path, labelled=True, policy=policy, report=report, reading=reading):
            row = repeats.latest
            if row is None:
                articles.append(article)
                continue
            report.n_articles -= 1
            if row.same_text:
                report.note(Finding.REPEATED_ID, f"{article.news_id} at {row.place}")
                continue
            clash = f"{row.place}: newsId {article.news_id} stands for another text at {row.first}"
            if policy is BadRowPolicy.STOP:
                raise DataError(clash, hint="give one of them another newsId, or leave it out with --skip-bad-rows")
            report.note(Finding.BAD_ROW, clash)
    for warning in report.warnings():
        logger.warning("training data: %s", warning)
    if repeats.n_contradicting:
        logger.warning("training data: %s", repeats.warning("the first counts"))
    return articles


def iter_rows(
    path: AnyFile, *, labelled: bool | None, report: ReadReport, reading: Reading | None = None
) -> Iterator[Article | BadRow]:
    """Yield every row of a file as an article or as what is wrong with it; blank lines are no rows.

    What labels were taken for is logged at the end, and that the script is traditional.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read.
    """
    reading = reading or Reading()
    labels = report.labels = LabelReader(reading.labels)
    script = ScriptCount()
    for record in iter_records(path, reading):
        try:
            if record.fault:
                raise DataError(record.fault, hint=record.hint)
            article = parse_article(record.value, labelled=labelled, report=report)
        except DataError as error:
            bad_row = BadRow(path, record.line, error.message, error.hint)
            report.note(Finding.BAD_ROW, str(bad_row))
            yield bad_row
        else:
            report.n_articles += 1
            script.add(article.title, article.content)
            if report.repeats is not None:
                report.repeats.add(article, path, record.line)
            yield article
    for line in (labels.summary(), script.warning()):
        if line:
            tell(f"{path}: {line}")


def iter_json_objects(path: AnyFile, reading: Reading | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered objects of a file of other rows than articles; see ``iter_objects``."""
    return iter_objects(path, reading)


def _bad_rows_error(bad_rows: Sequence[BadRow]) -> DataError:
    first, *others = bad_rows
    more = ""
    if others:
        count = f"at least {len(others)}" if len(bad_rows) == MAX_PROBLEMS else str(len(others))
        rows, lines = ("rows", "lines") if len(others) > 1 else ("row", "line")
        more = f" (and {count} more bad {rows}: {lines} {', '.join(str(row.line) for row in others)})"
    return DataError(f"{first}{more}", hint=first.hint or "mend the rows, or leave them out with --skip-bad-rows")
