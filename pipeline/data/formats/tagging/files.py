"""Files of rows: recognising their format, reading them, and writing rows with other spans."""

from __future__ import annotations

import csv
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from pipeline.data.formats.tagging.columns import written_columns
from pipeline.data.formats.tagging.form import Form, Notes
from pipeline.data.formats.tagging.notation import Notation
from pipeline.data.formats.tagging.readers import ENTITIES, TAGS
from pipeline.data.formats.tagging.registry import TagFormat, format_named, recognise
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.rules import choose_notation, named_notation
from pipeline.data.formats.tagging.source import located
from pipeline.data.formats.tagging.table import LABEL
from pipeline.data.formats.tagging.tokens import to_characters
from pipeline.data.formats.tagging.types import with_types
from pipeline.data.lines import count_rows, tell
from pipeline.errors import DataError
from pipeline.text.spans import ScoredSpan, Span

logger = logging.getLogger(__name__)

PROBS = "probs"
"""Key of token rows that were tagged."""
_OVER_LINES = ("columns", "table", "brat")
"""Formats whose rows are not one a line."""


@dataclass(frozen=True, slots=True)
class TagFile:
    """The labelled rows of a file."""

    path: Path
    rows: list[TagRow]
    notation: Notation | None
    """Of the tags of token rows; None for other rows."""

    @property
    def labels(self) -> list[str]:
        """Every type that occurs, in order."""
        return sorted({span.label for row in self.rows for span in row.spans})

    @property
    def parts(self) -> list[tuple[Path, int]]:
        """Every file that was read, with the number of its rows: of a folder, those of each text."""
        if not self.path.is_dir():
            return [(self.path, len(self.rows))]
        return [(self.path / name, count) for name, count in Counter(row.source["file"] for row in self.rows).items()]


def count_lines(path: Path, form: Form | None = None) -> int | None:
    """Return the number of lines where each is a row, for a progress bar; None where rows take several.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: as ``recognise``.
    """
    form = form or Form()
    name = form.format or recognise(path, form.encoding, form.columns)
    return None if name in _OVER_LINES else count_rows(path)


def iter_rows(path: Path, *, labelled: bool = False, form: Form | None = None) -> Iterator[TagRow]:
    """Yield the rows of a file that is to be tagged; labels that it holds are not looked at.

    Args:
        path: a file of any of the formats, packed by gzip or not, or a folder of brat's.
        labelled: check the labels, and read those that do not depend on other rows: all but the spans of tags.
        form: what is known of the file.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    opened = _Opened.of(path, form)
    n_rows = 0
    for row in opened.rows(labelled=labelled):
        n_rows += 1
        yield row
    opened.say(_counted(n_rows, "row"))


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file, its format, and what there is to tell of it."""

    path: Path
    form: Form
    format: TagFormat
    notes: Notes

    @classmethod
    def of(cls, path: Path, form: Form | None) -> _Opened:
        form = form or Form()
        return cls(path, form, format_named(form.format or recognise(path, form.encoding, form.columns)), Notes())

    def rows(self, *, labelled: bool) -> Iterator[TagRow]:
        is_empty = True
        for row in self.format.read(self.path, self.form, labelled=labelled, notes=self.notes):
            is_empty = False
            yield row
        if is_empty:
            lost = _listed(self.notes.lost)
            raise DataError(
                f"{self.path}: holds no row: {lost}" if lost else f"{self.path}: the file is empty, it holds no row"
            )

    def say(self, what: str) -> None:
        """Tell what rows were read as, and what was not read."""
        settles = "" if self.form.format else " (--format settles it)"
        if not self.format.is_ours:
            unread = _listed(self.notes.unread)
            tell(
                f"{self.path}: rows are {self.format.whose}: {what}{settles}{f'; not read: {unread}' if unread else ''}"
            )
        if lost := _listed(self.notes.lost):
            logger.warning("%s: left out: %s", self.path, lost)


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def read_rows(
    path: Path, *, form: Form | None = None, notation: Notation | None = None, keeps_rules: bool = True
) -> TagFile:
    """Read the labelled rows of a file.

    Tags that break the rules of their notation name no span: they are counted, and their tokens marked as unknown.
    Regions with two types are told.

    Args:
        path: a file of any of the formats but plain text, packed by gzip or not, or a folder of brat's.
        form: what is known of the file.
        notation: of tags; None recognises it.
        keeps_rules: refuse a file of which more than one span in a hundred would be lost; not for predictions.

    Raises:
        DataError: as ``iter_rows``, there are no labels, or see ``choose_notation``.
        ConfigError: the form names no notation.
    """
    opened = _Opened.of(path, form)
    form = opened.form
    rows = list(opened.rows(labelled=True))
    if not rows[0].tokens and rows[0].kind not in (RowKind.TOKENS, RowKind.COLUMNS):
        _tell_two_types(path, rows)
        return _told(opened, TagFile(path, rows, None))
    if notation is None:
        with located(path):
            recognised = Notation.of(tag for row in rows for tag in row.tags) if form.tags or not keeps_rules else None
        if recognised is None:
            notation = choose_notation(path, rows)
        else:
            notation = named_notation(form.tags, recognised) if form.tags else recognised
    rows = [_with_spans(path, row, notation) for row in rows]
    if broken := [row.line for row in rows if row.unknown]:
        count = sum(len(row.unknown) for row in rows)
        logger.warning("%s: %d tags break the rules of their notation (first: line %d)", path, count, broken[0])
    return _told(opened, TagFile(path, rows, notation))


def _told(opened: _Opened, file: TagFile) -> TagFile:
    if types := opened.form.types:
        plain = file.notation is not None and file.notation.is_plain
        rows, said = with_types(file.rows, types, plain=plain)
        file = replace(file, rows=rows)
        tell(f"{file.path}: {said}")
    opened.say(f"{_counted(len(file.rows), 'row')}, {_counted(len(file.labels), 'type')}")
    return file


class RowWriter:
    """Writes rows in the form they were read in, with other spans.

    Args:
        file: opened without translation of line ends.
        notation: of tags.
        scored: whether spans come with their probabilities.
    """

    def __init__(self, file: TextIO, notation: Notation, *, scored: bool = False) -> None:
        self._file, self._notation, self._scored = file, notation, scored
        self._columns: tuple[str, ...] = ()

    def write(self, row: TagRow, found: Sequence[Span | ScoredSpan]) -> None:
        """Append a row with spans of its untouched text; where tags are written they must not overlap.

        The probabilities of scored spans are written as ``prob`` beside each, or as ``probs`` with a number for each
        token (null where it belongs to no span); columns have no place for them.
        """
        spans = [Span(span.start, span.stop, span.label) for span in found]
        marks = [{"prob": round(span.prob, 4)} if isinstance(span, ScoredSpan) else {} for span in found]
        if row.kind is RowKind.TABLE:
            regions = [
                {"start": start, "end": stop, "text": row.text[start:stop], "labels": [label], **mark}
                for (start, stop, label), mark in zip(spans, marks, strict=True)
            ]
            self._write_cells({**row.source, LABEL: json.dumps(regions, ensure_ascii=False)})
        elif row.kind in (RowKind.TOKENS, RowKind.COLUMNS):
            tags = self._notation.tags(self._notation.to_tokens(spans, row.tokens), len(row.tokens))
            if row.kind is RowKind.COLUMNS:
                self._file.write(written_columns(row, tags))
            else:
                given = {PROBS: _by_token(row, spans, marks)} if self._scored else {}
                self._write_json({**row.source, TAGS: tags, **given})
        else:
            entities = [
                {"entity": row.text[start:stop], "type": label, "from": start, "to": stop, **mark}
                for (start, stop, label), mark in zip(spans, marks, strict=True)
            ]
            self._write_json({**row.source, ENTITIES: entities})

    def _write_json(self, row: Mapping[str, object]) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _write_cells(self, cells: Mapping[str, str]) -> None:
        # All is quoted, so that a carriage return inside a text survives.
        table = csv.writer(self._file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        if not self._columns:
            self._columns = tuple(cells)
            table.writerow(self._columns)
        table.writerow([cells[column] for column in self._columns])


def _with_spans(path: Path, row: TagRow, notation: Notation) -> TagRow:
    with located(path, row.line):
        spans, unknown = notation.spans(row.tags)
    return replace(
        row,
        spans=to_characters(spans, row.tokens),
        unknown=tuple(row.tokens[index] for index in unknown),
    )


def _by_token(row: TagRow, spans: Sequence[Span], marks: Sequence[Mapping[str, float]]) -> list[float | None]:
    """Return the probability of the span that each token belongs to."""
    of_token: list[float | None] = []
    for start, stop in row.tokens:
        inside = (mark["prob"] for span, mark in zip(spans, marks, strict=True) if span[0] < stop and start < span[1])
        of_token.append(next(inside, None))
    return of_token


def _tell_two_types(path: Path, rows: Sequence[TagRow]) -> None:
    """Warn of regions with two types: one layer of tags holds one of them."""
    clashes = []
    for row in rows:
        types: dict[tuple[int, int], list[str]] = {}
        for start, stop, label in row.spans:
            types.setdefault((start, stop), []).append(label)
        clashes += [(row, place, labels) for place, labels in types.items() if len(labels) > 1]
    if clashes:
        row, (start, stop), labels = clashes[0]
        logger.warning(
            "%s: %d spans have two types (first: line %d, %s is %s); a tagger learns the first of them alone",
            *(path, len(clashes), row.line, row.text[start:stop], " and ".join(labels)),
        )
