"""Files of rows: recognising their form, reading them, and writing the same form with other spans."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from pipeline.data.formats.tagging.columns import iter_column_rows, looks_like_columns, written_columns
from pipeline.data.formats.tagging.markup import refuse_markup
from pipeline.data.formats.tagging.notation import Notation
from pipeline.data.formats.tagging.readers import (
    ENTITIES,
    LABEL,
    TAGS,
    TEXT,
    TOKENS,
    iter_entity_rows,
    iter_table_rows,
    iter_text_rows,
    iter_token_rows,
    located,
)
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.rules import choose_notation, named_notation
from pipeline.data.formats.tagging.tokens import to_characters
from pipeline.data.read import iter_json_objects, iter_lines
from pipeline.errors import DataError
from pipeline.text.spans import ScoredSpan, Span

logger = logging.getLogger(__name__)

PROBS = "probs"
"""Key of token rows that were tagged."""
_READERS = {
    RowKind.ENTITIES: iter_entity_rows,
    RowKind.TOKENS: iter_token_rows,
    RowKind.COLUMNS: iter_column_rows,
    RowKind.TABLE: iter_table_rows,
    RowKind.TEXT: iter_text_rows,
}


@dataclass(frozen=True, slots=True)
class Form:
    """What a user says of a file's form; what is left out is recognised."""

    kind: RowKind | None = None
    tags: str = ""
    """Name of the notation of its tags, as IOB1; spans that break its rules are then lost with a warning alone."""
    tag_names: tuple[str, ...] = ()
    """What tags that are whole numbers stand for, from 0 on."""


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


def row_kind(path: Path) -> RowKind:
    """Recognise the form of a file: by its name (``.csv``, ``.csv.gz``), otherwise by its first row.

    Raises:
        DataError: the file cannot be read or is empty, or its first row is JSON but none of ours.
    """
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        return RowKind.TABLE
    found = next(((number, line) for number, line in iter_lines(path) if line is None or line.strip()), None)
    if found is None:
        raise _empty(path)
    first, line = found
    if line is not None and not line.lstrip().startswith(b"{"):
        if looks_like_columns(path):
            return RowKind.COLUMNS
        refuse_markup(path, first, line)
        return RowKind.TEXT
    number, row = next(iter_json_objects(path))
    if TOKENS in row:
        return RowKind.TOKENS
    if TEXT in row:
        return RowKind.ENTITIES
    raise DataError(f"{path}:{number}: has neither {TEXT} nor {TOKENS}")


def iter_rows(path: Path, *, labelled: bool = False, form: Form | None = None) -> Iterator[TagRow]:
    """Yield the rows of a file that is to be tagged; labels that it holds are not looked at.

    Args:
        path: JSON lines, CSV, columns or plain text, packed by gzip or not.
        labelled: check the labels, and read those that do not depend on other rows: all but the spans of tags.
        form: what is known of the file.

    Raises:
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    form = form or Form()
    kind = form.kind or row_kind(path)
    options = {"tag_names": form.tag_names} if kind is RowKind.TOKENS else {}
    is_empty = True
    for row in _READERS[kind](path, labelled=labelled, **options):
        is_empty = False
        yield row
    if is_empty:
        raise _empty(path)


def read_rows(
    path: Path, *, form: Form | None = None, notation: Notation | None = None, keeps_rules: bool = True
) -> TagFile:
    """Read the labelled rows of a file.

    Tags that break the rules of their notation name no span: they are counted, and their tokens marked as unknown.
    Regions with two types are told.

    Args:
        path: JSON lines, CSV or columns, packed by gzip or not.
        form: what is known of the file.
        notation: of tags; None recognises it.
        keeps_rules: refuse a file of which more than one span in a hundred would be lost; not for predictions.

    Raises:
        DataError: as ``iter_rows``, there are no labels, or see ``choose_notation``.
        ConfigError: the form names no notation.
    """
    form = form or Form()
    rows = list(iter_rows(path, labelled=True, form=form))
    if not rows[0].tokens and rows[0].kind not in (RowKind.TOKENS, RowKind.COLUMNS):
        _tell_two_types(path, rows)
        return TagFile(path, rows, None)
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
    return TagFile(path, rows, notation)


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


def _empty(path: Path) -> DataError:
    return DataError(f"{path}: the file is empty, it holds no row")
