"""Rows written as JSON lines, a JSON array or a table, as the name of the file says."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from pipeline.artifacts import atomic_writer, safe_cell

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Delimiters by the end of the name."""


def form_of(path: Path) -> str:
    """Return the end of a file's name that says its form, such as ".csv"; what is packed counts as if it were not."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, csv_bom: bool = False) -> int:
    """Write rows in the form of a file's name (.csv, .tsv, .json, otherwise JSON lines; .gz packs it); return how many.

    Args:
        path: of the new file.
        rows: with values that JSON has; those of ``columns`` that a row lacks are empty cells.
        columns: of a table, in order.
        csv_bom: begin a table with a byte order mark, by which Excel knows UTF-8.

    Raises:
        ConfigError: the file cannot be written.
    """
    suffix = form_of(path)
    with atomic_writer(path) as file:
        if suffix in TABLES:
            return _write_table(file, rows, columns, delimiter=TABLES[suffix], bom=csv_bom)
        return _write_array(file, rows) if suffix == ".json" else _write_lines(file, rows)


def _write_table(
    file: TextIO, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, delimiter: str, bom: bool
) -> int:
    file.write("\ufeff" if bom else "")
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerow(columns)
    # All quoted: a carriage return in a cell would otherwise stand bare.
    table = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007  # the last number is the count
        table.writerow([_cell(row.get(column)) for column in columns])
    return number


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else ""
    return safe_cell(json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value)


def _write_lines(file: TextIO, rows: Iterable[Mapping[str, Any]]) -> int:
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007
        file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
    return number


def _write_array(file: TextIO, rows: Iterable[Mapping[str, Any]]) -> int:
    number = 0
    for number, row in enumerate(rows, 1):
        file.write(f"{',' if number > 1 else '['}\n{json.dumps(row, ensure_ascii=False)}")
    file.write("\n]\n" if number else "[]\n")
    return number
