"""Rows of two texts with or without a label: JSON, or a table with a header (CSV, TSV), packed by gzip or not."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

from pipeline.artifacts import safe_cell
from pipeline.data.formats.registry import iter_sources
from pipeline.data.lines import iter_text
from pipeline.data.reading import Reading, require_columns
from pipeline.errors import DataError

TEXT_KEYS = (
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("question1", "question2"),
    ("query", "doc"),
    ("query", "document"),
    ("query", "title"),
    ("a", "b"),
)
"""Names of the two texts, of which the first that a row has both counts. Upper and lower case are the same."""
LABEL_KEYS = ("label", "score", "similarity", "relatedness_score", "is_duplicate")
"""Names of the label, the first that a row has."""
SCORE, PREDICTED = "match_score", "predicted"
"""What is added to a row: its score, 0 to 1, and what its label would be."""


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two texts as they stand in a file."""

    line: int
    source: Mapping[str, Any]
    """The row with all its keys, or columns, in order."""
    left: str
    right: str
    label: float | None = None
    """None in rows that were read without their labels."""


def table_separator(path: Path, reading: Reading | None = None) -> str | None:
    """Return the separator of a table, as the user says or by its name; None for what is written as JSON lines."""
    if reading and reading.format:
        return "," if reading.format == "csv" else None  # cells of another table may hold what parts its columns
    name = path.name.lower().removesuffix(".gz")
    return {".csv": ",", ".tsv": "\t"}.get(name[-4:])


def iter_pairs(path: Path, *, labelled: bool, reading: Reading | None = None) -> Iterator[PairRow]:
    """Yield the rows of a file.

    Args:
        path: JSON lines, a JSON array or a table, also packed (``.gz``); quotes mean nothing in a ``.tsv``.
        labelled: demand labels; False does not look at them.
        reading: format, encoding and columns where they are not to be recognised.

    Raises:
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    reading = reading or Reading()
    has_tabs = table_separator(path, reading) == "\t"
    rows = _quoteless_sources(path, reading) if has_tabs else iter_sources(path, reading)
    is_empty = True
    for number, source, row in rows:
        is_empty = False
        try:
            yield _pair(number, source, row, labelled=labelled)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error.message}") from error
    if is_empty:
        raise DataError(f"{path}: the file is empty, it holds no row")


def read_pairs(path: Path, reading: Reading | None = None) -> list[PairRow]:
    """Read the labelled rows of a file; see ``iter_pairs``."""
    return list(iter_pairs(path, labelled=True, reading=reading))


class PairWriter:
    """Gives rows in the form they were read in, with a score and a prediction added: as lines of text.

    Args:
        separator: of a table, as from ``table_separator``.
        ascii_only: write JSON with escapes, for a terminal.
    """

    def __init__(self, separator: str | None, *, ascii_only: bool = False) -> None:
        self._separator, self._ascii_only = separator, ascii_only
        self._columns: tuple[str, ...] = ()

    def lines(self, row: PairRow, score: float, predicted: float) -> str:
        """Return a row, before the first of a table its header; each line ends with a line feed."""
        values = {**row.source, SCORE: score, PREDICTED: predicted}
        if self._separator is None:
            return json.dumps(values, ensure_ascii=self._ascii_only) + "\n"
        header = "" if self._columns else self._cells(tuple(values))
        self._columns = self._columns or tuple(values)
        return header + self._cells([str(values[column]) for column in self._columns])

    def _cells(self, cells: Sequence[str]) -> str:
        if self._separator == "\t":
            return "\t".join(cells) + "\n"
        # All is quoted, so that a carriage return inside a text survives.
        file = io.StringIO(newline="")
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow([safe_cell(cell) for cell in cells])
        return file.getvalue()


def _pair(number: int, source: Mapping[str, Any], row: Mapping[str, Any], *, labelled: bool) -> PairRow:
    by_name = {key.strip().lower(): value for key, value in row.items()}
    keys = next((pair for pair in TEXT_KEYS if pair[0] in by_name and pair[1] in by_name), None)
    if keys is None:
        wanted = ", ".join("/".join(pair) for pair in TEXT_KEYS)
        raise DataError(f"has no two texts, want one of {wanted} (have: {', '.join(row)})")
    for key in keys:
        if not isinstance(by_name[key], str):
            raise DataError(f"{key} is {short_repr(by_name[key])}, want text")
    label = _label(by_name, row) if labelled else None
    return PairRow(number, source, by_name[keys[0]], by_name[keys[1]], label)


def _label(by_name: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    key = next((name for name in LABEL_KEYS if name in by_name), None)
    if key is None:
        raise DataError(f"has no label, want one of {', '.join(LABEL_KEYS)} (have: {', '.join(row)})")
    value = by_name[key]
    try:
        number = float(value)  # of a table it is text; true and false are 1 and 0
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{key} is {short_repr(value)}, want 0, 1 or a score")
    return number


def _quoteless_sources(path: Path, reading: Reading) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield what ``iter_sources`` does, of a table with tabs.

    Quotes mean nothing in it: public sets of pairs quote no cell.
    """
    columns: list[str] = []
    for line in iter_text(path, reading.encoding):
        if line.fault:
            raise DataError(f"{path}:{line.number}: {line.fault}", hint=line.hint)
        if not line.text.strip():
            continue
        cells = line.text.removesuffix("\r").split("\t")
        if not columns:
            columns = cells
            require_columns(f"{path}:{line.number}", columns, reading.columns)
            if len(set(columns)) < len(columns):
                raise DataError(f"{path}:{line.number}: a column occurs twice: {', '.join(columns)}")
        elif len(cells) != len(columns):
            raise DataError(f"{path}:{line.number}: {len(cells)} columns, the header has {len(columns)}")
        else:
            row = dict(zip(columns, cells, strict=True))
            yield line.number, row, reading.renamed(row)
