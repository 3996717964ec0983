"""Rows that a trained head answers: labels are not wanted, and not looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.registry import iter_sources
from pipeline.data.formats.sentiment import (
    CATEGORY,
    TARGET,
    TARGETS,
    RowKind,
    category_targets,
    document_targets,
    marked_targets,
)
from pipeline.data.formats.sentiment.files import SentimentObjects
from pipeline.data.read import Reading, parse_article
from pipeline.emotions.sentiment.contexts import make_target
from pipeline.errors import DataError
from pipeline.schema import Target
from pipeline.standalone.heads.rows import form_of
from pipeline.text import Document

ENTITIES, ENTITY = "coreEntityEmotions", "entity"
"""Keys of an article's entities: their names say which emotions are asked for."""
_LISTS = {RowKind.ARTICLE: ENTITIES, RowKind.TARGET: TARGETS}
"""The key that may hold several targets of one row."""


@dataclass(frozen=True, slots=True)
class UnlabelledRow:
    """A row as it was read, and what a head reads of it."""

    source: dict[str, Any]
    list_key: str | None
    """Key of the list whose entries the examples are; None where the row itself is the one example."""
    examples: list[Target]
    where: str
    """``file:line``, for messages."""

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The object behind each example."""
        return self.source[self.list_key] if self.list_key else [self.source]

    def answered(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the row with the keys of each answer added where its example stands."""
        if self.list_key is None:
            return {**self.source, **answers[0]}
        entries = [{**entry, **answer} for entry, answer in zip(self.entries, answers, strict=True)]
        return {**self.source, self.list_key: entries}

    def flat(self) -> list[dict[str, Any]]:
        """Return a row of a table for each example: the keys of the row, and those of the entry."""
        shared = {key: value for key, value in self.source.items() if key != self.list_key}
        return [{**shared, **entry} if self.list_key else shared for entry in self.entries]


def iter_unlabelled(
    path: Path, *, has_targets: bool, max_context_chars: int, reading: Reading | None = None
) -> Iterator[UnlabelledRow]:
    """Yield the rows of a file in order, one in memory at a time; the rows may differ in form.

    Keys are those of labelled rows, under any usual name. What was taken for what, and what was not read, is told.

    Args:
        path: JSON lines, a JSON array or a table, plain or gzip.
        has_targets: whether the head was trained on rows with targets. Each row must then have ``target``, ``targets``
            or ``category`` beside its ``text``, or be an article whose ``coreEntityEmotions`` name entities. Otherwise
            its ``text`` is read and nothing else.
        max_context_chars: of what is read of an article for one of its entities.
        reading: format, encoding and columns where they are not to be recognised.

    Raises:
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    is_empty = True
    reading = reading or Reading()
    objects = SentimentObjects(path, reading)
    try:
        for number, source, named in iter_sources(path, reading):
            is_empty = False
            row = objects.unlabelled(named, has_targets=has_targets)
            where = f"{path}:{number}"
            try:
                kind = form_of(row) if has_targets else RowKind.DOCUMENT
                if kind is None or kind.has_targets != has_targets:
                    have = ", ".join(source)
                    raise DataError(
                        f"want {TARGET}, {TARGETS} or {CATEGORY} beside the text, or an article (have: {have})",
                        hint="the head was trained on rows with targets: each row must say what it is asked about",
                    )
                examples = _entities(row, max_context_chars) if kind is RowKind.ARTICLE else list(_READERS[kind](row))
            except DataError as error:
                raise DataError(f"{where}: {error.message}", hint=error.hint) from error
            key = _LISTS.get(kind)
            yield UnlabelledRow(
                source, (reading.columns.get(key) or key) if key and key in row else None, examples, where
            )
    finally:
        objects.tell()  # also where somebody wants the first rows alone
    if is_empty:
        raise DataError(f"{path}: the file is empty, it holds no row")


def _entities(row: dict[str, Any], max_context_chars: int) -> list[Target]:
    """Return a target for each entity of an article; an emotion beside its name is not looked at."""
    document = Document.of(parse_article(row, labelled=False))
    entries = row.get(ENTITIES)
    if not isinstance(entries, list):
        raise DataError(f"no {ENTITIES}, whose entities are asked about")
    targets = []
    for entry in entries:
        name = entry.get(ENTITY) if isinstance(entry, dict) else None
        if not (isinstance(name, str) and name.strip()):
            raise DataError(f"{ENTITIES} has {short_repr(entry)}, want an object with the name of an {ENTITY}")
        targets.append(make_target(document, name.strip(), max_chars=max_context_chars))
    return targets


_READERS: dict[RowKind, Callable[[dict[str, Any]], Iterator[Target]]] = {
    RowKind.DOCUMENT: document_targets,
    RowKind.TARGET: marked_targets,
    RowKind.CATEGORY: category_targets,
}
