"""One reader for each form of rows: a decoded row in, labelled examples out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.entity_rows import normalised_span
from pipeline.data.labels import SPELLINGS, spelt
from pipeline.data.names import CATEGORY, FROM, LABEL, OCCURRENCE, POLARITY, TARGET, TEXT, TO
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, Emotion, Target
from pipeline.text import normalise
from pipeline.text.normalise import BREAK

TARGETS, GROUP = "targets", "group"
"""Keys of rows, beside those of ``pipeline.data.names``."""


def document_examples(row: dict[str, Any]) -> Iterator[tuple[Target, str]]:
    """Yield the example of ``{"text", "label"}``; a label is text, a number or a truth value.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    for target in document_targets(row):
        label = row.get(LABEL)
        if label is None or not isinstance(label, str | int) or not str(label).strip():
            raise DataError(
                f"no {LABEL}" if label is None else f"{LABEL} is {short_repr(label)}, want text or a number"
            )
        yield target, str(label).strip()


def document_targets(row: dict[str, Any]) -> Iterator[Target]:
    """Yield what is read of ``{"text"}``; nothing else of the row is looked at but ``group``.

    Raises:
        DataError: there is no text.
    """
    normalised = normalise(_text(row)).text
    yield Target(normalised, 0, 0, "", group=_group(row, normalised), document=normalised)


def target_examples(row: dict[str, Any]) -> Iterator[tuple[Target, str]]:
    """Yield the example of ``{"text", "target", "from", "to", "polarity"}``, or one for each entry of ``targets``.

    Offsets are half-open, in characters of the untouched text. Without them every occurrence is meant, and the first
    one marked; with ``occurrence`` the n-th, counted from 1.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    for entry, target in zip(target_entries(row), marked_targets(row), strict=True):
        yield _with_polarity(target, entry)


def marked_targets(row: dict[str, Any]) -> Iterator[Target]:
    """Yield the targets of ``target_examples``, with or without a polarity: it is not looked at.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    text = _text(row)
    normalised = normalise(text)
    for entry in target_entries(row):
        places = _places(entry, text)
        spans = [normalised_span(normalised, *place) for place in places]
        yield Target(
            normalised.text,
            *spans[0],
            text[slice(*places[0])],
            group=_group(row, normalised.text),
            mentions=tuple(span for span in spans if span[0] < span[1]),
            document=normalised.text,
        )


def target_entries(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects that name one target each: the entries of ``targets``, or the row itself.

    Raises:
        DataError: ``targets`` is no such list, or is empty.
    """
    entries = row.get(TARGETS, [row])
    if not (isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries)):
        raise DataError(f"{TARGETS} is {short_repr(entries)}, want a list of objects")
    return entries


def category_examples(row: dict[str, Any]) -> Iterator[tuple[Target, str]]:
    """Yield the example of ``{"text", "category", "polarity"}``: the category stands as a line above the text.

    So its words are the target of every head, as those of a target in the text are.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    for target in category_targets(row):
        yield _with_polarity(target, row)


def category_targets(row: dict[str, Any]) -> Iterator[Target]:
    """Yield the target of ``category_examples``, with or without a polarity: it is not looked at.

    Raises:
        DataError: the row is malformed; the message is the reason, without file and line.
    """
    text, category = normalise(_text(row)).text, row[CATEGORY]
    if not isinstance(category, str) or not (name := normalise(category).text.strip()):
        raise DataError(f"{CATEGORY} is {short_repr(category)}, want text that is not empty")
    span = (0, len(name))
    yield Target(f"{name}{BREAK}{text}", *span, category, group=_group(row, text), mentions=(span,), document=text)


def _with_polarity(target: Target, entry: dict[str, Any]) -> tuple[Target, str]:
    emotion = _polarity(entry)
    return replace(target, emotion=emotion), emotion.value


def _text(row: dict[str, Any]) -> str:
    text = row.get(TEXT)
    if not isinstance(text, str):
        raise DataError(f"{TEXT} is not text but {short_repr(text)}" if TEXT in row else f"no {TEXT}")
    if not text.strip():
        raise DataError(f"{TEXT} is empty")
    return text


def _group(row: dict[str, Any], normalised: str) -> str:
    """Return what ties rows together: their ``group``, or that their texts are one."""
    group = row.get(GROUP)
    return group if isinstance(group, str) and group else normalised


def _polarity(row: dict[str, Any]) -> Emotion:
    polarity = row.get(POLARITY)
    if polarity is None:
        raise DataError(f"no {POLARITY}")
    found = SPELLINGS.get(spelt(polarity))
    if found is None:
        raise DataError(f"{POLARITY} {short_repr(polarity)} is not one of {', '.join(EMOTIONS)}")
    return found


def _places(row: dict[str, Any], text: str) -> list[tuple[int, int]]:
    """Return the half-open places of the target in the untouched text, at least one."""
    name, start, stop = row.get(TARGET), row.get(FROM), row.get(TO)
    if not (isinstance(name, str) and name.strip()):
        raise DataError(f"{TARGET} is {short_repr(name)}, want text" if TARGET in row else f"no {TARGET}")
    if start is None and stop is None:
        return _occurrences(name, text, row.get(OCCURRENCE))
    if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= len(text):
        raise DataError(f"{TARGET} {short_repr(name)} lies at [{start}, {stop}), the {TEXT} has {len(text)} characters")
    if text[start:stop] != name:
        raise DataError(
            f"the {TEXT} reads {short_repr(text[start:stop])} at [{start}, {stop}), the {TARGET} {short_repr(name)}"
        )
    return [(start, stop)]


def _occurrences(name: str, text: str, number: object) -> list[tuple[int, int]]:
    """Return every place of a name from left to right, none of which overlap, or the one of a number."""
    places = [match.span() for match in re.finditer(re.escape(name), text)]
    if not places:
        raise DataError(f"the {TARGET} {short_repr(name)} is not in the {TEXT}")
    if number is None:
        return places
    if type(number) is not int or not 1 <= number <= len(places):
        raise DataError(
            f"{OCCURRENCE} is {short_repr(number)}, the {TARGET} {short_repr(name)} occurs {len(places)} times"
        )
    return [places[number - 1]]
