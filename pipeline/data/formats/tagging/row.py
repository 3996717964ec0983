"""One row, whatever its form: a text, and spans in characters of the untouched text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pipeline.data.formats.entity_rows import normalised_span
from pipeline.text import NormalisedText, normalise
from pipeline.text.spans import LabelledText, Span, choose_spans

Range = tuple[int, int]
"""Half-open, in characters."""


class RowKind(StrEnum):
    """The form of a file's rows."""

    ENTITIES = "entities"
    """JSON lines with ``text`` and ``entities``."""
    TOKENS = "tokens"
    """JSON lines with ``tokens`` and ``tags``."""
    COLUMNS = "columns"
    """A token a line, its tag in the last column; a blank line ends a row (CoNLL)."""
    TABLE = "table"
    """CSV with columns ``text`` and ``label``."""
    TEXT = "text"
    """Plain text, a sentence per line; without labels."""


@dataclass(frozen=True, slots=True)
class TagRow:
    """A text with the spans marked in it; none in a row that is to be tagged."""

    kind: RowKind
    line: int
    """Of the file, where the row begins."""
    source: Mapping[str, Any]
    """The row as read: what is written is this with other labels."""
    text: str
    spans: tuple[Span, ...] = ()
    """In order; they may overlap."""
    tokens: tuple[Range, ...] = ()
    """Of a token row: where each of its tokens lies in ``text``."""
    tags: tuple[str, ...] = ()
    """Of a labelled row of tokens: the tag of each, as the file names it."""
    unknown: tuple[Range, ...] = ()
    """Tokens whose tags break the rules of their notation: nobody knows what they mean."""


def labelled_text(row: TagRow) -> LabelledText:
    """Return a row as taggers learn from it: normalised, spans and unknown ranges moved along.

    A span of which nothing visible is left is dropped.
    """
    normalised = normalise(row.text)
    spans = {Span(*normalised_span(normalised, start, stop), label) for start, stop, label in row.spans}
    unknown = (normalised_span(normalised, *place) for place in row.unknown)
    return LabelledText(
        normalised.text,
        tuple(sorted(span for span in spans if span.start < span.stop)),
        unknown=tuple(place for place in unknown if place[0] < place[1]),
    )


def untouched_spans(normalised: NormalisedText, spans: Iterable[Span]) -> list[Span]:
    """Move spans of a normalised text to the untouched one, in order and without overlap.

    One character may have become several ("…"): of spans that share it the longest is kept.
    """
    return choose_spans(Span(*normalised.raw_span(start, stop), label) for start, stop, label in spans)[0]
