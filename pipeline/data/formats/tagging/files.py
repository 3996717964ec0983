"""Files of rows: recognising their form, reading them, and writing the same form with other spans."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from pipeline.data.formats.tagging.notation import Notation, to_characters
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
from pipeline.data.read import iter_json_objects, iter_lines
from pipeline.errors import DataError
from pipeline.text.spans import Span

logger = logging.getLogger(__name__)

_READERS = {
    RowKind.ENTITIES: iter_entity_rows,
    RowKind.TOKENS: iter_token_rows,
    RowKind.TABLE: iter_table_rows,
    RowKind.TEXT: iter_text_rows,
}


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
    for _, line in iter_lines(path):
        if line is None or line.strip():
            break
    else:
        raise _empty(path)
    if line is not None and not line.lstrip().startswith(b"{"):
        return RowKind.TEXT
    number, row = next(iter_json_objects(path))
    if TOKENS in row:
        return RowKind.TOKENS
    if TEXT in row:
        return RowKind.ENTITIES
    raise DataError(f"{path}:{number}: has neither {TEXT} nor {TOKENS}")


def iter_rows(path: Path, *, labelled: bool = False) -> Iterator[TagRow]:
    """Yield the rows of a file that is to be tagged; labels that it holds are not looked at.

    Args:
        path: JSON lines, CSV or plain text, packed by gzip or not.
        labelled: check the labels, and read those that do not depend on other rows: all but tags.

    Raises:
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    is_empty = True
    for row in _READERS[row_kind(path)](path, labelled=labelled):
        is_empty = False
        yield row
    if is_empty:
        raise _empty(path)


def read_rows(path: Path, *, notation: Notation | None = None) -> TagFile:
    """Read the labelled rows of a file.

    Tags that break the rules of their notation name no span: they are counted, and their tokens marked as unknown.

    Args:
        path: JSON lines or CSV, packed by gzip or not.
        notation: of tags; None recognises it.

    Raises:
        DataError: as ``iter_rows``, or there are no labels.
    """
    rows = list(iter_rows(path, labelled=True))
    if rows[0].kind is not RowKind.TOKENS:
        return TagFile(path, rows, None)
    if notation is None:
        with located(path):
            notation = Notation.of(tag for row in rows for tag in row.source[TAGS])
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
    """

    def __init__(self, file: TextIO, notation: Notation) -> None:
        self._file, self._notation = file, notation
        self._columns: tuple[str, ...] = ()

    def write(self, row: TagRow, spans: Sequence[Span]) -> None:
        """Append a row with spans of its untouched text; where tags are written they must not overlap."""
        if row.kind is RowKind.TABLE:
            regions = [
                {"start": start, "end": stop, "text": row.text[start:stop], "labels": [label]}
                for start, stop, label in spans
            ]
            self._write_cells({**row.source, LABEL: json.dumps(regions, ensure_ascii=False)})
        elif row.kind is RowKind.TOKENS:
            fitted = self._notation.to_tokens(spans, row.tokens)
            self._write_json({**row.source, TAGS: self._notation.tags(fitted, len(row.tokens))})
        else:
            entities = [
                {"entity": row.text[start:stop], "type": label, "from": start, "to": stop}
                for start, stop, label in spans
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
        spans, unknown = notation.spans(row.source[TAGS])
    return replace(
        row,
        spans=to_characters(spans, row.tokens),
        unknown=tuple(row.tokens[index] for index in unknown),
    )


def _empty(path: Path) -> DataError:
    return DataError(f"{path}: the file is empty, it holds no row")
