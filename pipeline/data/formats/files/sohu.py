"""Sohu 2022: JSON lines with ``id``, ``content`` and ``entity``, the emotion of each name from -2 to 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pipeline.data.formats.files.json_lines import parse_json, read_json_lines
from pipeline.data.formats.files.record import Lines, Record
from pipeline.errors import DataError


def begins_sohu(line: str) -> bool:
    """Tell it by the keys of its first row."""
    try:
        row = parse_json(line)
    except DataError:
        return False
    return (
        isinstance(row, dict)
        and "content" in row
        and "newsId" not in row
        and isinstance(row.get("entity"), dict | list)
    )


def read_sohu(lines: Lines) -> Iterator[Record]:
    """Yield ``{"text", "targets": [{"target", "polarity"}]}``; the sign of the number is the polarity.

    2 and 1 (very, somewhat) become positive, -1 and -2 negative. Names without an emotion stand in a list.
    """
    for record in read_json_lines(lines):
        row = record.value
        if record.fault or not isinstance(row, dict):
            yield record
        elif not isinstance(row.get("entity"), dict | list) or "content" not in row:
            yield replace(record, value=None, fault="want content and entity, an object of names and emotions")
        elif row["entity"]:
            yield replace(record, value={"text": row["content"], "targets": _targets(row["entity"])})


def _targets(entity: dict[str, Any] | list[Any]) -> list[dict[str, Any]]:
    if isinstance(entity, list):
        return [{"target": name} for name in entity]
    return [{"target": name, "polarity": _polarity(value)} for name, value in entity.items()]


def _polarity(value: Any) -> Any:
    if type(value) is not int or not -2 <= value <= 2:
        return value
    return "positive" if value > 0 else "negative" if value < 0 else "neutral"
