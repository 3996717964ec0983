"""Tables as annotation tools write them: CSV or TSV with a text, and its regions as a JSON list in ``label``."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

from pipeline.artifacts import plain_cell
from pipeline.data.formats.entity_rows import parse_entities
from pipeline.data.formats.files.tables import delimiter_of
from pipeline.data.formats.tagging.form import Form, Notes
from pipeline.data.formats.tagging.labelstudio import region_entries
from pipeline.data.formats.tagging.marked import in_order
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.source import decoded_lines, located
from pipeline.data.lines import MAX_LINE_BYTES
from pipeline.data.reading import renamed
from pipeline.errors import DataError
from pipeline.text.spans import Span

TEXT, LABEL = "text", "label"


def is_header(line: str, columns: Mapping[str, str] | None = None) -> bool:
    """Tell a header that names both columns, the file's names of which are in ``columns``."""
    try:
        cells = next(csv.reader([line.strip()], delimiter=delimiter_of(line)), [])
    except csv.Error:  # a carriage return within the line
        return False
    return all((columns or {}).get(name, name) in cells for name in (TEXT, LABEL))


def iter_table_rows(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
    """Yield the rows of a table: ``label`` is a JSON list of ``{"start", "end", "text", "labels": [...]}``.

    The delimiter is what the header has most of: comma, tab or semicolon.
    """
    csv.field_size_limit(MAX_LINE_BYTES)  # of the whole process: its default cuts off at 128 KiB
    lines = (line for _, line in decoded_lines(path, form.encoding))
    header = ""
    n_blank = 0
    for header in lines:
        if header.strip():
            break
        n_blank += 1
    number = n_blank + 1
    records = csv.reader(_with_first(header, lines), delimiter=delimiter_of(header), strict=True)
    columns: list[str] = []
    try:
        for cells in records:
            with located(path, number):
                if cells and not columns:
                    wanted = [TEXT, LABEL] if labelled else [TEXT]
                    columns = _header(cells, [form.columns.get(name, name) for name in wanted])
                elif cells:
                    yield _row(number, columns, cells, form, labelled=labelled)
            number = n_blank + records.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{number}: not CSV: {error}") from error


def _with_first(first: str, others: Iterator[str]) -> Iterator[str]:
    yield first
    yield from others


def _header(columns: list[str], wanted: list[str]) -> list[str]:
    if missing := [column for column in wanted if column not in columns]:
        raise DataError(f"no column {' and '.join(missing)} (have: {', '.join(columns)})")
    if len(set(columns)) < len(columns):
        raise DataError(f"a column occurs twice: {', '.join(columns)}")
    return columns


def _row(number: int, columns: list[str], cells: list[str], form: Form, *, labelled: bool) -> TagRow:
    if len(cells) != len(columns):
        raise DataError(f"{len(cells)} columns, the header has {len(columns)}")
    row = renamed(dict(zip(columns, cells, strict=True)), form.columns)
    text = plain_cell(row[TEXT])
    if not labelled:
        return TagRow(RowKind.TABLE, number, row, text)
    try:
        spans = _spans(text, row[LABEL])
    except DataError:
        if text == row[TEXT]:
            raise
        text = row[TEXT]  # the apostrophe is of the text: somebody's regions count it
        spans = _spans(text, row[LABEL])
    return TagRow(RowKind.TABLE, number, row, text, in_order(spans))


def _spans(text: str, cell: str) -> list[Span]:
    return parse_entities({"text": text, "entities": _entries(text, cell)})[1]


def _entries(text: str, cell: str) -> list[dict[str, Any]]:
    """Turn a cell of the label column into entries, one for each label of a region."""
    try:
        regions = json.loads(cell) if cell.strip() else None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{LABEL} is not JSON: {error}") from error
    if not isinstance(regions, list | None):
        raise DataError(f"{LABEL} is not a list but {short_repr(regions)}")
    return [found for region in regions or [] for found in region_entries(text, region, key=LABEL)]
