"""Token rows: tokens to text, and tags to spans, in whatever notation the file spells its tags."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.data.formats.tagging.row import Range
from pipeline.errors import DataError
from pipeline.text.spans import OUTSIDE, Span, TagScheme

NOTATIONS = ("BI", "BIES", "BMES", "BILU", "BMEW")
"""Letters for begin and inside, or begin, inside, end and single."""
PLAIN = ""
"""The letters of a notation in which each token is a span of its own, of which the tag is the type."""

_SPELT = re.compile(r"[BIMELSUW](-.+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Notation:
    """How the tags of a file are spelt; spans here are ranges of tokens, unless said otherwise."""

    letters: str = NOTATIONS[0]
    """One of ``NOTATIONS``, or ``PLAIN``."""

    @classmethod
    def of(cls, tags: Iterable[str]) -> Notation:
        """Recognise the notation of a file by all of its tags.

        Tags are spelt with letters if one of them has the form "B-x", or if all are bare letters; otherwise they
        are plain, as in part-of-speech tagging.

        Raises:
            DataError: the letters belong to no notation.
        """
        distinct = set(tags) - {OUTSIDE}
        spelt = {tag for tag in distinct if _SPELT.fullmatch(tag)}
        if spelt != distinct and not any("-" in tag for tag in spelt):
            return cls(PLAIN)
        used = {tag[0] for tag in spelt}
        for letters in NOTATIONS:
            if used <= set(letters):
                return cls(letters)
        raise DataError(
            f"tags begin with {', '.join(sorted(used))}: no notation has these (have: {', '.join(NOTATIONS)})"
        )

    @property
    def is_plain(self) -> bool:
        """Tell whether each token is a span of its own."""
        return self.letters == PLAIN

    def spans(self, tags: Sequence[str]) -> tuple[list[Span], list[int]]:
        """Return the spans that tags spell, and the tokens whose tags are none of "O" and yet spell nothing.

        Raises:
            DataError: a tag does not belong to the notation.
        """
        if self.is_plain:
            return [Span(index, index + 1, tag) for index, tag in enumerate(tags) if tag != OUTSIDE], []
        spans = self._scheme.decode([self._translated(tag, self.letters, self._scheme_letters) for tag in tags])
        covered = {index for span in spans for index in range(span.start, span.stop)}
        return spans, [index for index, tag in enumerate(tags) if tag != OUTSIDE and index not in covered]

    def tags(self, spans: Iterable[Span], n_tokens: int) -> list[str]:
        """Return the tags that spell spans; the inverse of ``spans``."""
        if self.is_plain:
            tags = [OUTSIDE] * n_tokens
            for start, stop, label in spans:
                tags[start:stop] = [label] * (stop - start)
            return tags
        encoded = self._scheme.encode(spans, n_tokens)
        return [self._translated(tag, self._scheme_letters, self.letters) for tag in encoded]

    def to_tokens(self, spans: Iterable[Span], tokens: Sequence[Range]) -> list[Span]:
        """Turn spans of characters without overlap into spans of tokens.

        Plain: a token gets the type of the span that shares most characters with it. Otherwise spans that begin or
        end inside a token are left out.
        """
        if self.is_plain:
            return _by_overlap(spans, tokens)
        first = {start: index for index, (start, _) in enumerate(tokens)}
        last = {stop: index for index, (_, stop) in enumerate(tokens, 1)}
        return [
            Span(first[start], last[stop], label) for start, stop, label in spans if start in first and stop in last
        ]

    @property
    def _scheme(self) -> TagScheme:
        return TagScheme("BIO" if self.letters == "BI" else "BIESO")

    @property
    def _scheme_letters(self) -> str:
        return "BIES"[: len(self.letters)]

    @staticmethod
    def _translated(tag: str, letters: str, into: str) -> str:
        if tag == OUTSIDE:
            return tag
        if not _SPELT.fullmatch(tag) or tag[0] not in letters:
            raise DataError(f"tag {tag!r} among tags in the notation {letters}")
        return into[letters.index(tag[0])] + tag[1:]


def join_tokens(tokens: Iterable[str]) -> tuple[str, tuple[Range, ...]]:
    """Return the text of tokens and the place of each in it; a blank parts two that would read as one Latin word."""
    parts: list[str] = []
    places: list[Range] = []
    length, before = 0, ""
    for token in tokens:
        if before and _is_of_word(before[-1]) and _is_of_word(token[0]):
            parts.append(" ")
            length += 1
        places.append((length, length + len(token)))
        parts.append(token)
        length, before = length + len(token), token
    return "".join(parts), tuple(places)


def to_characters(spans: Iterable[Span], tokens: Sequence[Range]) -> tuple[Span, ...]:
    """Turn spans of tokens into spans of characters."""
    return tuple(Span(tokens[start][0], tokens[stop - 1][1], label) for start, stop, label in spans)


def _is_of_word(char: str) -> bool:
    """Tell whether a character belongs to a word written between blanks: a letter or digit that is no wide one."""
    form = unicodedata.normalize("NFKC", char)[0]  # full-width letters are Latin ones
    return form.isalnum() and unicodedata.east_asian_width(form) not in ("W", "F")


def _by_overlap(spans: Iterable[Span], tokens: Sequence[Range]) -> list[Span]:
    starts, stops = [start for start, _ in tokens], [stop for _, stop in tokens]
    best: dict[int, tuple[int, str]] = {}
    for start, stop, label in spans:
        for index in range(bisect_right(stops, start), bisect_left(starts, stop)):
            shared = min(stop, stops[index]) - max(start, starts[index])
            if shared > best.get(index, (0, ""))[0]:
                best[index] = (shared, label)
    return [Span(index, index + 1, label) for index, (_, label) in sorted(best.items())]
