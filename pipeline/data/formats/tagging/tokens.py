"""Tokens of a row: joined to a text, and spans of tokens to spans of characters and back."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from pipeline.data.formats.tagging.row import Range
from pipeline.text.spans import Span


def join_tokens(tokens: Iterable[str]) -> tuple[str, tuple[Range, ...]]:
    """Return the text of tokens and the place of each in it; a blank parts two that would read as one Latin word."""
    parts: list[str] = []
    places: list[Range] = []
    length, before = 0, ""
    for token in tokens:
        if before and is_of_word(before[-1]) and is_of_word(token[0]):
            parts.append(" ")
            length += 1
        places.append((length, length + len(token)))
        parts.append(token)
        length, before = length + len(token), token
    return "".join(parts), tuple(places)


def to_characters(spans: Iterable[Span], tokens: Sequence[Range]) -> tuple[Span, ...]:
    """Turn spans of tokens into spans of characters."""
    return tuple(Span(tokens[start][0], tokens[stop - 1][1], label) for start, stop, label in spans)


def is_of_word(char: str) -> bool:
    """Tell whether a character belongs to a word written between blanks: a letter or digit that is no wide one."""
    form = unicodedata.normalize("NFKC", char)[0]  # full-width letters are Latin ones
    return form.isalnum() and unicodedata.east_asian_width(form) not in ("W", "F")


def by_overlap(spans: Iterable[Span], tokens: Sequence[Range]) -> list[Span]:
    """Give each token the type of the span of characters that shares most with it."""
    starts, stops = [start for start, _ in tokens], [stop for _, stop in tokens]
    best: dict[int, tuple[int, str]] = {}
    for start, stop, label in spans:
        for index in range(bisect_right(stops, start), bisect_left(starts, stop)):
            shared = min(stop, stops[index]) - max(start, starts[index])
            if shared > best.get(index, (0, ""))[0]:
                best[index] = (shared, label)
    return [Span(index, index + 1, label) for index, (_, label) in sorted(best.items())]
