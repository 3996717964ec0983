"""CSV and TSV with a header: each row is an object of text cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from pipeline.artifacts import plain_cell
from pipeline.data.formats.files.record import Lines, Record
from pipeline.data.lines import MAX_LINE_BYTES
from pipeline.data.names import is_known_name

DELIMITERS = (",", "\t", ";")
"""A spreadsheet writes the last one where the comma is the decimal sign."""


def begins_table(line: str) -> bool:
    """Tell a header: at least two cells, one of which is a name of a column that is known."""
    cells = _cells(line, delimiter_of(line))
    return len(cells) > 1 and any(is_known_name(cell.strip()) for cell in cells)


def delimiter_of(header: str) -> str:
    """Return the delimiter that a header has most of."""
    return max(DELIMITERS, key=header.count)


def read_csv(lines: Lines) -> Iterator[Record]:
    """Yield the rows of a table whose delimiter its header shows: comma, tab or semicolon."""
    yield from _read(lines, None)


def read_tsv(lines: Lines) -> Iterator[Record]:
    """Yield the rows of a table with tabs."""
    yield from _read(lines, "\t")


def _read(lines: Lines, delimiter: str | None) -> Iterator[Record]:
    csv.field_size_limit(MAX_LINE_BYTES)  # of the whole process: its default cuts off at 128 KiB
    source = _Source(lines)
    header = source.first()
    if header is None:
        return
    delimiter = delimiter or delimiter_of(header)
    columns: list[str] = []
    records = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        start = source.number + 1
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            yield Record(start, fault=f"not CSV: {error}")
            return
        if source.fault is not None:
            yield source.fault
            source.fault = None
        elif any(cell.strip() for cell in cells):
            if columns:
                yield _row(start, columns, cells)
                continue
            columns = [cell.strip() for cell in cells]
            if len(set(columns)) < len(columns):
                yield Record(start, fault=f"a column occurs twice: {', '.join(columns)}")
                return


def _row(number: int, columns: Sequence[str], cells: Sequence[str]) -> Record:
    extra = len(cells) - len(columns)
    if extra > 0 and not any(cell.strip() for cell in cells[len(columns) :]):
        cells, extra = cells[: len(columns)], 0  # a spreadsheet fills rows up with empty cells
    if extra:
        return Record(number, fault=f"{len(cells)} columns, the header has {len(columns)}")
    return Record(number, {name: plain_cell(cell) for name, cell in zip(columns, cells, strict=True) if name})


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


class _Source:
    """The lines as the csv module takes them; one that cannot be read is a blank row with a fault beside it."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._held: str | None = None
        self.number = 0
        self.fault: Record | None = None

    def first(self) -> str | None:
        """Return the first line that is not blank, which is read again; None: there is none."""
        for text in self:
            if text.strip():
                self._held = text
                self.number -= 1
                return text
        return None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._held is not None:
            text, self._held = self._held, None
            self.number += 1
            return text
        line = next(self._lines)
        self.number = line.number
        if line.fault:
            self.fault = Record(line.number, fault=line.fault, hint=line.hint)
            return "\n"
        return f"{line.text}\n"
