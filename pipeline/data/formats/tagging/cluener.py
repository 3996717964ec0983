"""CLUENER's JSON lines: ``{"text", "label": {type: {name: [[first, last], ...]}}}``; the last character belongs."""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.tagging.form import Notes
from pipeline.data.formats.tagging.marked import Marked, entry, object_of, text_of, without
from pipeline.errors import DataError


def is_cluener(value: object) -> bool:
    """Tell a row by its label, an object of objects."""
    label = value.get("label") if isinstance(value, dict) else None
    return isinstance(label, dict) and all(isinstance(names, dict) for names in label.values())


def parse_cluener(value: object, *, labelled: bool, notes: Notes) -> list[Marked]:
    """Return the text of a row. See ``marked.Parse``."""
    row = object_of(value)
    text = text_of(row, "text")
    return [Marked(text, list(_entries(row)) if labelled else (), without(row, "text", "label"))]


def _entries(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    label = row.get("label")
    if not isinstance(label, dict):
        raise DataError(f"label is {short_repr(label)}, want types, names and places" if "label" in row else "no label")
    for kind, names in label.items():
        if not isinstance(names, dict):
            raise DataError(f"label {kind} is {short_repr(names)}, want names and their places")
        for name, places in names.items():
            for place in places if isinstance(places, list) else [places]:
                if not (isinstance(place, list) and len(place) == 2 and all(type(index) is int for index in place)):
                    raise DataError(f"{kind} {name!r} lies at {short_repr(place)}, want [first, last]")
                yield entry(place[0], place[1] + 1, kind, name)
