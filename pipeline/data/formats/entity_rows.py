"""Rows with marked entities: ``{"text", "entities": [{"entity", "type", "from", "to"}]}``, one JSON object per line."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Any

from pipeline.data.read import iter_json_objects
from pipeline.errors import DataError
from pipeline.text import NormalisedText, normalise
from pipeline.text.spans import LabelledText, Span


def read_ner_rows(path: Path, *, with_types: bool = True) -> list[LabelledText]:
    """Read the rows of a file, normalised.

    Args:
        path: JSON lines, plain or gzip.
        with_types: False makes one nameless type of all.

    Raises:
        DataError: the file cannot be read or is empty, or a row is malformed (file and line are named).
    """
    rows = []
    for number, row in iter_json_objects(path):
        try:
            rows.append(parse_ner_row(row, with_types=with_types))
        except DataError as error:
            raise DataError(f"{path}:{number}: {error.message}") from error
    if not rows:
        raise DataError(f"{path}: the file is empty, it holds no row")
    return rows


def parse_ner_row(row: dict[str, Any], *, with_types: bool = True) -> LabelledText:
    """Check a decoded row and move its offsets to the normalised text.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    text, entities = parse_entities(row)
    normalised = normalise(text)
    spans = set()
    for start, stop, label in entities:
        first, last = normalised_span(normalised, start, stop)
        if first < last:
            spans.add(Span(first, last, label if with_types else ""))
    return LabelledText(normalised.text, tuple(sorted(spans)))


def parse_entities(row: dict[str, Any]) -> tuple[str, list[Span]]:
    """Check a decoded row; return its text and its entities, in characters of the untouched text.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    text, entities = row.get("text"), row.get("entities")
    if not isinstance(text, str):
        raise DataError("no text")
    if not isinstance(entities, list):
        raise DataError("entities is not a list")
    spans = []
    for entry in entities:
        start, stop = (entry.get(key) if isinstance(entry, dict) else None for key in ("from", "to"))
        if not (isinstance(start, int) and isinstance(stop, int) and 0 <= start < stop <= len(text)):
            raise DataError(f"an entity lies at [{start}, {stop}), the text has {len(text)} characters")
        name = entry.get("entity")
        if name is not None and name != text[start:stop]:
            raise DataError(f"the text reads {text[start:stop]!r} at [{start}, {stop}), the entity {name!r}")
        spans.append(Span(start, stop, str(entry.get("type", ""))))
    return text, spans


def normalised_span(normalised: NormalisedText, start: int, stop: int) -> tuple[int, int]:
    """Map a half-open span of the untouched text to the normalised one, without blanks at its edges.

    It may be empty: what is invisible has no place there.
    """
    first, last = bisect_left(normalised.starts, start), bisect_right(normalised.ends, stop)
    while first < last and normalised.text[first].isspace():
        first += 1
    while first < last and normalised.text[last - 1].isspace():
        last -= 1
    return first, max(first, last)
