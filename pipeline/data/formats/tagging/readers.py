"""Readers of our own rows: JSON with entities, or with tokens and tags, and plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.entity_rows import parse_entities
from pipeline.data.formats.tagging.form import Form, Notes
from pipeline.data.formats.tagging.marked import in_order, object_of
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.source import decoded_lines, iter_values, located
from pipeline.data.formats.tagging.tokens import join_tokens
from pipeline.errors import DataError

TEXT, ENTITIES, TOKENS, TAGS = "text", "entities", "tokens", "tags"
"""Keys of rows."""
TAG_KEYS = (TAGS, "ner_tags", "pos_tags")
"""Under which token rows keep their tags; the first that is there is read."""


def is_entities(value: object) -> bool:
    """Tell a row by an entity with our names of offsets."""
    entities = value.get(ENTITIES) if isinstance(value, dict) else None
    return isinstance(entities, list) and bool(entities) and isinstance(entities[0], dict) and "from" in entities[0]


def is_tokens(value: object) -> bool:
    """Tell a row by its tokens."""
    tokens = value.get(TOKENS) if isinstance(value, dict) else None
    return isinstance(tokens, list) and any(isinstance(token, str) for token in tokens)


def iter_entity_rows(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
    """Yield ``{"text", "entities": [{"entity", "type", "from", "to"}]}``."""
    for number, value in iter_values(path, form.encoding, form.columns):
        with located(path, number):
            row = object_of(value)
            if labelled and TEXT in row and ENTITIES not in row:
                raise DataError(f"no {ENTITIES} (have: {', '.join(row)})")
            text, spans = parse_entities(row if labelled else {**row, ENTITIES: []})
        yield TagRow(RowKind.ENTITIES, number, row, text, in_order(spans))


def iter_token_rows(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
    """Yield ``{"tokens", "tags"}``; the tags are checked, but read only once the whole file's notation is known."""
    for number, value in iter_values(path, form.encoding, form.columns):
        with located(path, number):
            row = object_of(value)
            tokens = _strings(row, TOKENS)
            tags = _tags(row, form.tag_names) if labelled else []
            if labelled and len(tags) != len(tokens):
                raise DataError(f"{len(tokens)} {TOKENS} but {len(tags)} {TAGS}")
        text, places = join_tokens(tokens)
        yield TagRow(RowKind.TOKENS, number, row, text, tokens=places, tags=tuple(tags))


def iter_text_rows(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
    """Yield the lines that are not blank.

    Raises:
        DataError: labels are wanted, or as ``decoded_lines``.
    """
    for number, line in decoded_lines(path, form.encoding):
        if not line.strip():
            continue
        if labelled:
            raise DataError(
                f"{path}:{number}: plain text, want {ENTITIES}, {TAGS} or (in a .csv file) label",
                hint="a list of names is a dictionary: train --set candidates.dictionary=FILE",
            )
        text = line.rstrip("\r\n")
        yield TagRow(RowKind.TEXT, number, {TEXT: text}, text)


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
