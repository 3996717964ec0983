"""doccano's JSON: ``label`` holds [start, end, type], or ``entities`` objects with start_offset and end_offset."""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.tagging.form import Notes
from pipeline.data.formats.tagging.marked import Marked, entry, list_of, object_of, text_of, without
from pipeline.errors import DataError

_LISTS = ("label", "labels", "entities", "annotations")
"""Where versions of the tool keep spans."""
_BESIDE = {"relations": "relations", "Comments": "comments", "comments": "comments"}
"""Keys whose lists are no spans, and what they are called."""


def is_doccano(value: object) -> bool:
    """Tell a row by a triple in its list of labels, or by the names of the offsets."""
    if not isinstance(value, dict):
        return False
    firsts = [value[key][0] for key in _LISTS if isinstance(value.get(key), list) and value[key]]
    is_labels = "entities" not in value and any(_is_triple(first) for first in firsts)
    return is_labels or any(isinstance(first, dict) and "start_offset" in first for first in firsts)


def parse_doccano(value: object, *, labelled: bool, notes: Notes) -> list[Marked]:
    """Return the text of a row; offsets are half-open. See ``marked.Parse``."""
    row = object_of(value)
    text = text_of(row, "text", "data")
    beside = without(row, "text", "data", *_LISTS, *_BESIDE)
    if not labelled:
        return [Marked(text, beside=beside)]
    for key, name in _BESIDE.items():
        found = row.get(key)
        notes.unread[name] += len(found) if isinstance(found, list) else 0
    key, entries = list_of(row, *_LISTS)
    return [Marked(text, [_entry(key, found) for found in entries], beside)]


def _entry(key: str, found: object) -> dict[str, Any]:
    if isinstance(found, list) and len(found) == 3:
        return entry(*found)
    if isinstance(found, dict) and "start_offset" in found:
        return entry(found["start_offset"], found.get("end_offset"), found.get("label"))
    raise DataError(f"{key} holds {short_repr(found)}, want [start, end, type] or start_offset, end_offset and label")


def _is_triple(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], int)
