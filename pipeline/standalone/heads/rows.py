"""Files of rows: recognising their form, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.data.folds import group_articles
from pipeline.data.formats.sentiment import (
    CATEGORY,
    LABEL,
    TARGET,
    TARGETS,
    RowKind,
    SentimentRow,
    category_examples,
    document_examples,
    iter_sentiment_objects,
    target_examples,
)
from pipeline.data.read import iter_articles
from pipeline.data.reading import Reading
from pipeline.emotions.sentiment.contexts import make_target
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, Target
from pipeline.text import Document

_READERS: dict[RowKind, Callable[[dict[str, Any]], Iterator[tuple[Target, str]]]] = {
    RowKind.DOCUMENT: document_examples,
    RowKind.TARGET: target_examples,
    RowKind.CATEGORY: category_examples,
}
_MARKS = {
    "newsId": RowKind.ARTICLE,
    TARGET: RowKind.TARGET,
    TARGETS: RowKind.TARGET,
    CATEGORY: RowKind.CATEGORY,
    LABEL: RowKind.DOCUMENT,
}
"""The key that gives a form away; the first one counts (a target row may have a category as well)."""


@dataclass(frozen=True, slots=True)
class SentimentFile:
    """The labelled examples of a file."""

    path: Path
    kind: RowKind
    rows: list[SentimentRow]

    @property
    def classes(self) -> list[str]:
        """Every label that occurs: emotions in their order, other labels sorted."""
        found = {row.label for row in self.rows}
        return [emotion.value for emotion in EMOTIONS if emotion in found] if self.kind.has_targets else sorted(found)


def form_of(row: Mapping[str, Any]) -> RowKind | None:
    """Recognise the form of a row by its keys; None: it is none of ours."""
    return next((kind for key, kind in _MARKS.items() if key in row), None)


def row_kind(path: Path, reading: Reading | None = None) -> RowKind:
    """Recognise the form of a file by its first row.

    Raises:
        DataError: the file cannot be read or is empty, or its first row is none of ours.
    """
    for number, row in iter_sentiment_objects(path, reading):
        if kind := form_of(row):
            return kind
        raise DataError(f"{path}:{number}: want {LABEL}, {TARGET}, {CATEGORY} or newsId (have: {', '.join(row)})")
    raise DataError(f"{path}: the file is empty, it holds no row")


def read_rows(path: Path, *, max_context_chars: int, reading: Reading | None = None) -> SentimentFile:
    """Read the labelled rows of a file, all of one form.

    Args:
        path: JSON lines, a JSON array or a table, plain or gzip.
        max_context_chars: of what is read of an article for one of its entities.
        reading: format, encoding, columns and labels where they are not to be recognised.

    Raises:
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    kind = row_kind(path, reading)
    is_article = kind is RowKind.ARTICLE
    rows = _articles(path, max_context_chars, reading) if is_article else _rows(path, kind, reading)
    if not rows:
        raise DataError(f"{path}: no article names an entity: there is nothing to learn")
    return SentimentFile(path, kind, rows)


def read_targets(paths: Iterable[Path], *, max_context_chars: int) -> list[Target]:
    """Read the labelled targets of several files, which may differ in form.

    Args:
        paths: JSON lines, plain or gzip.
        max_context_chars: of what is read of an article for one of its entities.

    Raises:
        DataError: a file has rows without a target, or is one that ``read_rows`` refuses.
    """
    targets: list[Target] = []
    for path in paths:
        found = read_rows(path, max_context_chars=max_context_chars)
        if not found.kind.has_targets:
            raise DataError(f"{path}: its rows have no target; want text, {TARGET} and polarity, or articles")
        targets += [row.example for row in found.rows]
    return targets


def _rows(path: Path, kind: RowKind, reading: Reading | None) -> list[SentimentRow]:
    rows = []
    for number, row in iter_sentiment_objects(path, reading):
        where = f"{path}:{number}"
        found = form_of(row)
        if found is not kind:
            raise DataError(f"{where}: {f'a {found}' if found else 'another'} row, those before are {kind} rows")
        try:
            rows += [SentimentRow(example, label, where) for example, label in _READERS[kind](row)]
        except DataError as error:
            raise DataError(f"{where}: {error.message}") from error
    return rows


def _articles(path: Path, max_context_chars: int, reading: Reading | None) -> list[SentimentRow]:
    """Read an example for each entity; near-duplicates are one group."""
    articles = list(iter_articles(path, labelled=True, reading=reading))
    groups = group_articles(articles)
    rows = []
    for article in articles:
        document = Document.of(article)
        for entity in article.entities or ():
            example = make_target(document, entity.name, max_chars=max_context_chars, emotion=entity.emotion)
            rows.append(SentimentRow(example, entity.emotion.value, f"{path}: newsId {article.news_id}"))
    return [_in_group(row, groups[row.example.group]) for row in rows]


def _in_group(row: SentimentRow, group: str) -> SentimentRow:
    return replace(row, example=replace(row.example, group=group))
