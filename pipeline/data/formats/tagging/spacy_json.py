"""spaCy's JSON: texts with ``entities`` of [start, end, type], alone or in pairs, and documents with ``ents``.

The training files of spaCy 2 are read as well.
"""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.tagging.form import Notes
from pipeline.data.formats.tagging.marked import Marked, entry, list_of, object_of, text_of, without
from pipeline.data.formats.tagging.source import is_pair
from pipeline.data.formats.tagging.spacy_training import is_training_document, parse_training_document
from pipeline.errors import DataError

_LISTS = ("ents", "entities", "spans")
_OF_DOCUMENT = ("tokens", "sents", "cats", "links", "relations")
"""Other layers of a document, which belong to its untouched spans."""


def is_spacy(value: object) -> bool:
    """Tell a pair, an object with pairs, paragraphs, ents, or spans of [start, end, type] or of start, end, label."""
    if is_pair(value) or is_training_document(value):
        return True
    if not isinstance(value, dict):
        return False
    if _pairs(value) or (isinstance(value.get("ents"), list) and "text" in value):
        return True
    return any(isinstance(value.get(key), list) and value[key] and _is_entry(value[key][0]) for key in _LISTS)


def parse_spacy(value: object, *, labelled: bool, notes: Notes) -> list[Marked]:
    """Return the texts of a value; offsets are half-open. See ``marked.Parse``."""
    if isinstance(value, list):
        if not is_pair(value):
            raise DataError(f"want a text and its entities, not {short_repr(value)}")
        return [_marked({**value[1], "text": value[0]}, labelled=labelled)]
    row = object_of(value)
    if is_training_document(row):
        return list(parse_training_document(row, labelled=labelled, notes=notes))
    if pairs := _pairs(row):
        return [marked for pair in pairs for marked in parse_spacy(pair, labelled=labelled, notes=notes)]
    return [_marked(row, labelled=labelled)]


def _marked(row: dict[str, Any], *, labelled: bool) -> Marked:
    text = text_of(row, "text")
    beside = without(row, "text", *_LISTS, *_OF_DOCUMENT)
    if not labelled:
        return Marked(text, beside=beside)
    key, entries = list_of(row, *_LISTS)
    return Marked(text, [_entry(key, found) for found in entries], beside)


def _entry(key: str, found: object) -> dict[str, Any]:
    if isinstance(found, list) and len(found) >= 3:
        return entry(*found[:3])
    if isinstance(found, dict) and "start" in found:
        return entry(found["start"], found.get("end"), found.get("label"), found.get("text"))
    raise DataError(f"{key} holds {short_repr(found)}, want [start, end, type] or start, end and label")


def _is_entry(value: object) -> bool:
    if isinstance(value, dict):
        return "start" in value and "end" in value and isinstance(value.get("label"), str)
    return isinstance(value, list) and len(value) >= 3 and isinstance(value[0], int) and isinstance(value[2], str)


def _pairs(row: dict[str, Any]) -> list[Any]:
    """Return the pairs of a file that is one object; labelling pages write it with the names of the types."""
    found = row.get("annotations")
    pairs = [pair for pair in found if pair is not None] if isinstance(found, list) and "text" not in row else []
    return pairs if pairs and is_pair(pairs[0]) else []
