"""One reader for each form of rows: a file in, rows out, one at a time; errors name file and line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.entity_rows import parse_entities
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.tokens import join_tokens
from pipeline.data.read import MAX_LINE_BYTES, iter_json_objects, iter_lines
from pipeline.errors import DataError
from pipeline.text.spans import Span

TEXT, ENTITIES, TOKENS, TAGS, LABEL = "text", "entities", "tokens", "tags", "label"
"""Keys of JSON rows, and columns of tables."""
TAG_KEYS = (TAGS, "ner_tags", "pos_tags")
"""Under which token rows keep their tags; the first that is there is read."""


@contextmanager
def located(path: Path, line: int | None = None) -> Iterator[None]:
    """Put file and line before the message of a DataError."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}{f':{line}' if line else ''}: {error.message}", hint=error.hint) from error


def iter_entity_rows(path: Path, *, labelled: bool) -> Iterator[TagRow]:
    """Yield ``{"text", "entities": [{"entity", "type", "from", "to"}]}``."""
    for number, row in iter_json_objects(path):
        with located(path, number):
            text, spans = parse_entities(row if labelled else {**row, ENTITIES: []})
        yield TagRow(RowKind.ENTITIES, number, row, text, _in_order(spans))


def iter_token_rows(path: Path, *, labelled: bool, tag_names: Sequence[str] = ()) -> Iterator[TagRow]:
    """Yield ``{"tokens", "tags"}``; the tags are checked, but read only once the whole file's notation is known.

    Args:
        path: JSON lines.
        labelled: read the tags.
        tag_names: what tags that are whole numbers stand for, from 0 on.
    """
    for number, row in iter_json_objects(path):
        with located(path, number):
            tokens = _strings(row, TOKENS)
            tags = _tags(row, tag_names) if labelled else []
            if labelled and len(tags) != len(tokens):
                raise DataError(f"{len(tokens)} {TOKENS} but {len(tags)} {TAGS}")
        text, places = join_tokens(tokens)
        yield TagRow(RowKind.TOKENS, number, row, text, tokens=places, tags=tuple(tags))


def iter_table_rows(path: Path, *, labelled: bool) -> Iterator[TagRow]:
    """Yield the rows of a CSV file: ``label`` is a JSON list of ``{"start", "end", "labels": [...]}``."""
    csv.field_size_limit(MAX_LINE_BYTES)  # of the whole process: its default cuts off at 128 KiB
    records = csv.reader((line for _, line in decoded_lines(path)), strict=True)
    columns: list[str] = []
    number = 1
    try:
        for cells in records:
            with located(path, number):
                if cells and not columns:
                    columns = _header(cells, [TEXT, LABEL] if labelled else [TEXT])
                elif cells:
                    yield _table_row(number, columns, cells, labelled=labelled)
            number = records.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{number}: not CSV: {error}") from error


def iter_text_rows(path: Path, *, labelled: bool) -> Iterator[TagRow]:
    """Yield the lines that are not blank.

    Raises:
        DataError: labels are wanted, or as ``iter_lines``.
    """
    for number, line in decoded_lines(path):
        if not line.strip():
            continue
        if labelled:
            raise DataError(f"{path}:{number}: plain text, want {ENTITIES}, {TAGS} or (in a .csv file) {LABEL}")
        text = line.rstrip("\r\n")
        yield TagRow(RowKind.TEXT, number, {TEXT: text}, text)


def decoded_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines with their ends.

    Raises:
        DataError: as ``iter_lines``, or a line is too long or not UTF-8.
    """
    for number, line in iter_lines(path):
        if line is None:
            raise DataError(f"{path}:{number}: the line is longer than {MAX_LINE_BYTES:,} bytes")
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{path}:{number}: not UTF-8: byte {error.start + 1} of the line") from error


def _in_order(spans: list[Span]) -> tuple[Span, ...]:
    return tuple(sorted(set(spans)))


def _strings(row: dict[str, Any], key: str) -> list[str]:
    values = row.get(key)
    if not isinstance(values, list):
        raise DataError(f"{key} is not a list but {short_repr(values)}" if key in row else f"no {key}")
    for number, value in enumerate(values, 1):
        if not (isinstance(value, str) and value):
            raise DataError(f"entry {number} of {key} is {short_repr(value)}, want text that is not empty")
    return values


def _tags(row: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return a row's tags, whole numbers by their names."""
    key = next((key for key in TAG_KEYS if key in row), TAGS)
    values = row.get(key)
    if not isinstance(values, list) or not any(type(value) is int for value in values):
        return _strings(row, key)
    if not names:
        raise DataError(f"{key} holds numbers such as {values[0]}", hint="name them: --tag-names O,B-PER,I-PER,...")
    for number, value in enumerate(values, 1):
        if type(value) is not int or not 0 <= value < len(names):
            raise DataError(f"entry {number} of {key} is {short_repr(value)}, want 0 to {len(names) - 1}")
    return [names[value] for value in values]


def _header(columns: list[str], wanted: list[str]) -> list[str]:
    if missing := [column for column in wanted if column not in columns]:
        raise DataError(f"no column {' and '.join(missing)} (have: {', '.join(columns)})")
    if len(set(columns)) < len(columns):
        raise DataError(f"a column occurs twice: {', '.join(columns)}")
    return columns


def _table_row(number: int, columns: list[str], cells: list[str], *, labelled: bool) -> TagRow:
    if len(cells) != len(columns):
        raise DataError(f"{len(cells)} columns, the header has {len(columns)}")
    row = dict(zip(columns, cells, strict=True))
    entities = _regions(row[LABEL]) if labelled else []
    text, spans = parse_entities({TEXT: row[TEXT], ENTITIES: entities})
    return TagRow(RowKind.TABLE, number, row, text, _in_order(spans))


def _regions(cell: str) -> list[dict[str, Any]]:
    """Turn a cell of the label column into entities, one for each label of a region."""
    try:
        regions = json.loads(cell) if cell.strip() else None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{LABEL} is not JSON: {error}") from error
    if not isinstance(regions, list | None):
        raise DataError(f"{LABEL} is not a list but {short_repr(regions)}")
    entities = []
    for region in regions or []:
        labels = region.get("labels") if isinstance(region, dict) else None
        if not (isinstance(labels, list) and labels and all(isinstance(label, str) for label in labels)):
            raise DataError(f"{LABEL} holds {short_repr(region)}, want start, end and labels")
        place = {"from": region.get("start"), "to": region.get("end"), "entity": region.get("text")}
        entities += [{**place, "type": label} for label in labels]
    return entities
