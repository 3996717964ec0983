"""JSON lines to articles: plain text or gzip, one row at a time, strict about what is wrong with a row."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from io import BufferedIOBase
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any, NoReturn

from pipeline.artifacts import AnyFile, BoundedGzip, open_any
from pipeline.data.repeats import RepeatedIds
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, MAX_ENTITIES, Article, Emotion, Entity, emotion_of, news_id_fault
from pipeline.text import match_key, normalise

logger = logging.getLogger(__name__)

MAX_LINE_BYTES = 16 * 2**20
MAX_PROBLEMS = 20
"""Malformed rows gathered before reading stops, and examples kept where it goes on."""

_LABELS = "coreEntityEmotions"
_BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class BadRowPolicy(StrEnum):
    """What a malformed row does: stop the run, or be counted and left out."""

    STOP = "stop"
    SKIP = "skip"


class Finding(StrEnum):
    """What reading mends or leaves out; the value completes "3 ..."."""

    BAD_ROW = "malformed rows left out"
    REPEATED_ID = "articles left out that repeat an earlier newsId"
    EMPTY_ENTITY = "empty entities left out"
    REPEATED_ENTITY = "entities left out that their article names twice"
    MANY_ENTITIES = f"articles with more than {MAX_ENTITIES} entities"
    LONE_SURROGATE = "texts or entities with a broken character (lone surrogate), replaced by U+FFFD"


@dataclass
class ReadReport:
    """What reading found; one report may be filled by several files."""

    n_articles: int = 0
    counts: Counter[Finding] = field(default_factory=Counter)
    first: dict[Finding, str] = field(default_factory=dict)
    """Where each finding was met first."""
    bad_rows: list[str] = field(default_factory=list)
    """The first malformed rows as ``path:line: reason``."""
    repeats: RepeatedIds | None = None
    """Given where newsIds that occur again are to be found; it keeps every id."""

    def note(self, finding: Finding, where: str) -> None:
        """Count one finding."""
        self.counts[finding] += 1
        self.first.setdefault(finding, where)
        if finding is Finding.BAD_ROW and len(self.bad_rows) < MAX_PROBLEMS:
            self.bad_rows.append(where)

    def warnings(self) -> list[str]:
        """Return one line for each kind of finding that occurred, with its count and first place."""
        return [f"{self.counts[found]} {found} (first: {self.first[found]})" for found in Finding if self.counts[found]]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, every kind of finding included."""
        findings = {finding.name.lower(): self.counts[finding] for finding in Finding}
        return {"articles": self.n_articles, **findings, "bad_row_examples": list(self.bad_rows)}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A malformed row."""

    path: AnyFile
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


def iter_articles(
    path: AnyFile,
    *,
    labelled: bool | None = None,
    policy: BadRowPolicy = BadRowPolicy.STOP,
    report: ReadReport | None = None,
    may_be_empty: bool = False,
) -> Iterator[Article]:
    """Yield the articles of a file in order, holding one row in memory.

    Args:
        path: JSON lines, plain or gzip.
        labelled: True demands labels, False ignores them (prediction must not see them), None takes what is there.
        policy: whether malformed rows stop the run or are counted.
        report: is filled while reading.
        may_be_empty: whether a file without a row is fine, such as an empty part of a larger data set.

    Raises:
        DataError: the file cannot be read or holds no article, or (policy STOP) rows are malformed. From
            the first malformed row on nothing is yielded; the rest is scanned so that the error can list the others.
    """
    report = ReadReport() if report is None else report
    n_read = 0
    bad_rows: list[BadRow] = []
    for row in iter_rows(path, labelled=labelled, report=report):
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
        for article in iter_articles(path, labelled=True, policy=policy, report=report):
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


def iter_rows(path: AnyFile, *, labelled: bool | None, report: ReadReport) -> Iterator[Article | BadRow]:
    """Yield every row of a file as an article or as what is wrong with it; blank lines are no rows.

    Raises:
        DataError: the file cannot be read.
    """
    for number, line in iter_lines(path):
        if line is not None and not line.strip():
            continue
        try:
            article = parse_article(_parse_json(line), labelled=labelled, report=report)
        except DataError as error:
            bad_row = BadRow(path, number, error.message)
            report.note(Finding.BAD_ROW, str(bad_row))
            yield bad_row
        else:
            report.n_articles += 1
            if report.repeats is not None:
                report.repeats.add(article, path, number)
            yield article


def iter_json_objects(path: AnyFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered JSON objects of a file of other rows than articles; blank lines are no rows.

    Raises:
        DataError: the file cannot be read, or a line is no JSON object (file and line are named).
    """
    for number, line in iter_lines(path):
        if line is not None and not line.strip():
            continue
        try:
            row = _parse_json(line)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error.message}") from error
        if not isinstance(row, dict):
            raise DataError(f"{path}:{number}: not a JSON object but {short_repr(row)}")
        yield number, row


def count_rows(path: Path) -> int:
    """Count the lines of a file without parsing them: the total of a progress bar, blank lines included.

    Raises:
        DataError: the file cannot be read.
    """
    n_lines, last = 0, b"\n"
    with _open(path) as stream:
        while block := stream.read(2**20):
            n_lines += block.count(b"\n")
            last = block[-1:]
    return n_lines + (last != b"\n")


def parse_article(row: object, *, labelled: bool | None = None, report: ReadReport | None = None) -> Article:
    """Check a decoded row and clean its gold entities: trimmed, none empty, none twice.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    report = ReadReport() if report is None else report
    if not isinstance(row, dict):
        raise DataError(f"not a JSON object but {short_repr(row)}")
    news_id = _news_id(row)
    if "title" not in row and "content" not in row:
        raise DataError("neither title nor content")
    title, content = _text(row, "title"), _text(row, "content")
    entities = None
    if labelled is not False and row.get(_LABELS) is not None:
        entities = _entities(row[_LABELS], news_id, report)
    elif labelled:
        raise DataError(f"no {_LABELS}: labels are needed here")
    title, content = _mend(title, news_id, report), _mend(content, news_id, report)
    return Article(news_id, title, content, entities, truncated=row.get("truncated") is True)


def align_gold(article: Article) -> tuple[list[str], list[str]]:
    """Split the gold entities into those that occur in the text, as written or once normalised, and the others."""
    aligned: list[str] = []
    unaligned: list[str] = []
    normalised: list[str] | None = None
    for entity in article.entities or ():
        found = entity.name in article.title or entity.name in article.content
        if not found and (key := match_key(entity.name)):
            normalised = normalised or [normalise(article.title).text, normalise(article.content).text]
            found = any(key in text for text in normalised)
        (aligned if found else unaligned).append(entity.name)
    return aligned, unaligned


def _bad_rows_error(bad_rows: Sequence[BadRow]) -> DataError:
    first, *others = bad_rows
    more = ""
    if others:
        count = f"at least {len(others)}" if len(bad_rows) == MAX_PROBLEMS else str(len(others))
        rows, lines = ("rows", "lines") if len(others) > 1 else ("row", "line")
        more = f" (and {count} more bad {rows}: {lines} {', '.join(str(row.line) for row in others)})"
    return DataError(f"{first}{more}", hint="mend the rows, or leave them out with --skip-bad-rows")


@contextmanager
def _open(path: AnyFile) -> Iterator[BufferedIOBase]:
    """Open a file for reading, unpacking gzip; whatever goes wrong up to its end becomes a DataError.

    So does an end before the one it had when it was opened: less would be read, and nothing told of it.
    """
    try:
        with open_any(path) as raw:
            n_bytes = os.fstat(raw.fileno()).st_size if isinstance(path, Path) else 0
            if path.suffix.lower() == ".gz" or raw.peek(2)[:2] == _GZIP_MAGIC:
                with BoundedGzip(path, raw) as unpacked:
                    yield unpacked
            else:
                yield raw
            # Told by reading on: whoever asked for a part of the file is not concerned.
            if not raw.peek(1) and raw.tell() < n_bytes:
                raise DataError(f"{path}: became shorter while it was read")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise DataError(f"{path}: is a folder, not a file", hint="name a file in it") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged or not gzip: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def iter_lines(path: AnyFile) -> Iterator[tuple[int, bytes | None]]:
    """Yield numbered lines, None for one that is too long. A line ends at LF and nowhere else.

    Raises:
        DataError: the file cannot be read.
    """
    with _open(path) as stream:
        number = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
                yield number, line.removeprefix(_BOM)  # also where files with a BOM were joined
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
            yield number, None


def _parse_json(line: bytes | None) -> object:
    if line is None:
        raise DataError(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: byte {error.start + 1} of the line is 0x{line[error.start]:02x}") from error
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except ValueError as error:  # NaN, or a number of thousands of digits
        raise DataError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise DataError("nested too deeply to be read") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _news_id(row: dict[str, Any]) -> str:
    value = row.get("newsId")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None:
        raise DataError("no newsId")
    if not isinstance(value, str):
        raise DataError(f"newsId {short_repr(value)} is neither text nor a whole number")
    if fault := news_id_fault(value):
        raise DataError(f"newsId {short_repr(value)} {fault}" if value.strip() else f"newsId {fault}")
    return value


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{key} is not text but {short_repr(value)}")
    return value


def _mend(text: str, news_id: str, report: ReadReport) -> str:
    """Replace lone surrogates, which no file can hold, keeping the length."""
    mended, n_replaced = _LONE_SURROGATE.subn("\ufffd", text)
    if n_replaced:
        report.note(Finding.LONE_SURROGATE, news_id)
    return mended


def _entities(labels: object, news_id: str, report: ReadReport) -> tuple[Entity, ...]:
    if not isinstance(labels, list):
        raise DataError(f"{_LABELS} is not a list but {short_repr(labels)}")
    parsed = [_entity(entry, number) for number, entry in enumerate(labels, 1)]
    kept: dict[str, Entity] = {}
    for raw_name, emotion in parsed:
        name = _mend(raw_name, news_id, report).strip()
        if not name:
            report.note(Finding.EMPTY_ENTITY, news_id)
        elif name in kept:
            report.note(Finding.REPEATED_ENTITY, f"{name} in {news_id}")
        else:
            kept[name] = Entity(name, emotion)
    if len(kept) > MAX_ENTITIES:
        report.note(Finding.MANY_ENTITIES, news_id)
    return tuple(kept.values())


def _entity(entry: object, number: int) -> tuple[str, Emotion]:
    if not isinstance(entry, dict):
        raise DataError(f"entry {number} of {_LABELS} is not an object but {short_repr(entry)}")
    name, emotion = entry.get("entity"), entry.get("emotion")
    if not isinstance(name, str):
        raise DataError(f"entry {number} of {_LABELS} has no entity")
    if emotion is None:
        raise DataError(f"entry {number} of {_LABELS} has no emotion")
    if (found := emotion_of(emotion)) is None:
        raise DataError(f"emotion {short_repr(emotion)} is not one of {', '.join(EMOTIONS)}")
    return name, found
