"""Rows of annotation tools in JSON: decoded values to texts with marked places, checked against the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any, Protocol

from pipeline.data.formats.entity_rows import parse_entities
from pipeline.data.formats.tagging.form import Form, Notes
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.source import iter_values, located
from pipeline.errors import DataError
from pipeline.text.spans import Span


@dataclass(frozen=True, slots=True)
class Marked:
    """A text, what was marked in it, and what stands beside it."""

    text: str
    entries: Sequence[Mapping[str, Any]] = ()
    """As ``entry`` gives them."""
    beside: Mapping[str, Any] | None = None
    """Other keys, which are kept."""


class Reader(Protocol):
    """Yields the rows of a file, one at a time."""

    def __call__(self, path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
        """Read a file; without ``labelled`` the labels are not looked at."""


Parse = Callable[..., list[Marked]]
"""``(value, *, labelled, notes)`` to the texts of a decoded value; raises DataError without file and line."""


def json_reader(parse: Parse) -> Reader:
    """Return a reader of files of JSON whose values ``parse`` takes apart."""

    def read(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
        for number, value in iter_values(path, form.encoding, form.columns):
            with located(path, number):
                rows = [checked(marked, number) for marked in parse(value, labelled=labelled, notes=notes)]
            yield from rows

    return read


def checked(marked: Marked, number: int) -> TagRow:
    """Return a row, its spans checked against the text.

    Raises:
        DataError: a span leaves the text, or its text differs; the message is the reason, without file and line.
    """
    text, spans = parse_entities({"text": marked.text, "entities": list(marked.entries)})
    return TagRow(RowKind.ENTITIES, number, {**(marked.beside or {}), "text": text}, text, in_order(spans))


def entry(start: object, stop: object, label: object, name: object = None) -> dict[str, Any]:
    """Return a marked place as entity rows have it.

    Raises:
        DataError: the type is no text.
    """
    if not isinstance(label, str):
        hint = "export the names of the types, not their numbers" if isinstance(label, int) else None
        raise DataError(f"the type of a span is {short_repr(label)}, want text", hint=hint)
    return {"from": start, "to": stop, "type": label, "entity": name}


def object_of(value: object) -> dict[str, Any]:
    """Return a value that is an object.

    Raises:
        DataError: it is none.
    """
    if not isinstance(value, dict):
        raise DataError(f"not a JSON object but {short_repr(value)}")
    return value


def text_of(row: Mapping[str, Any], *keys: str) -> str:
    """Return the text under the first key that is there.

    Raises:
        DataError: there is none, or it is no text.
    """
    for key in keys:
        if isinstance(row.get(key), str):
            return row[key]
    raise DataError(f"no {' or '.join(keys)} (have: {', '.join(row)})")


def list_of(row: Mapping[str, Any], *keys: str) -> tuple[str, list[Any]]:
    """Return the first key that is there, and its list.

    Raises:
        DataError: there is none, or it holds no list.
    """
    key = next((key for key in keys if key in row), None)
    if key is None:
        raise DataError(f"no {' or '.join(keys)} (have: {', '.join(row)})")
    if not isinstance(row[key], list):
        raise DataError(f"{key} is not a list but {short_repr(row[key])}")
    return key, row[key]


def without(row: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a row without some keys."""
    return {key: value for key, value in row.items() if key not in keys}


def in_order(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return distinct spans in order."""
    return tuple(sorted(set(spans)))
