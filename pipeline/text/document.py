"""One article as one normalised string, with the way back to its two fields."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.schema import Article, Field, Mention
from pipeline.text.normalise import BREAK, NormalisedText, normalise
from pipeline.text.sentences import split_sentences

SEPARATOR = BREAK
"""Stands between title and content; no candidate, word or sentence crosses it."""


@dataclass(frozen=True)
class Document:
    """Normalised title, a separator, normalised content. All spans are half-open offsets into ``text``."""

    article: Article
    title: NormalisedText
    content: NormalisedText

    @classmethod
    def of(cls, article: Article) -> Document:
        """Normalise both fields of an article."""
        return cls(article, normalise(article.title), normalise(article.content))

    @cached_property
    def text(self) -> str:
        """The whole normalised text."""
        return f"{self.title.text}{SEPARATOR}{self.content.text}"

    @property
    def content_start(self) -> int:
        """Where the content begins in ``text``."""
        return len(self.title.text) + len(SEPARATOR)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Spans of the sentences; the title and the separator are the first (or first few)."""
        return split_sentences(self.text)

    def sentence_at(self, position: int) -> int:
        """Return the index of the sentence that holds a character."""
        return bisect_right(self._sentence_starts, position) - 1

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [start for start, _ in self.sentences]

    @cached_property
    def _reference_blanks(self) -> list[int]:
        """Positions of blanks that are an HTML reference (``&nbsp;``) in the untouched field."""
        found = []
        for part, raw, shift in (
            (self.title, self.article.title, 0),
            (self.content, self.article.content, self.content_start),
        ):
            if "&" in raw:
                spans = enumerate(zip(part.text, part.starts, part.ends, strict=True), shift)
                found += [position for position, (char, start, end) in spans if char == " " and "&" in raw[start:end]]
        return found

    def has_reference_blank(self, start: int, stop: int) -> bool:
        """Tell whether a blank of the span is written as an HTML reference, so that no name should be cut out there."""
        blanks = self._reference_blanks
        return bisect_left(blanks, start) < bisect_left(blanks, stop)

    @cached_property
    def _n_altered(self) -> np.ndarray:
        """How many characters before each position are not those of the untouched field: int64 (n_chars + 1,)."""
        title, content = _altered(self.title, self.article.title), _altered(self.content, self.article.content)
        return np.concatenate(([0], np.cumsum(np.concatenate((title, [True], content)))))

    def is_as_written(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """Tell of spans whether ``surface`` is ``text[start:stop]``, as of nearly all: bool (n_spans,).

        False says nothing of a span.
        """
        return self._n_altered[starts] == self._n_altered[stops]

    def mention(self, start: int, stop: int) -> Mention:
        """Map a span of ``text`` to the untouched field it lies in."""
        field, raw_start, raw_end = self._raw_span(start, stop)
        return Mention(field, raw_start, raw_end, self.article.field(field)[raw_start:raw_end])

    def surface(self, start: int, stop: int) -> str:
        """Return what the untouched field holds where ``text`` has a span."""
        field, raw_start, raw_end = self._raw_span(start, stop)
        return self.article.field(field)[raw_start:raw_end]

    def _raw_span(self, start: int, stop: int) -> tuple[Field, int, int]:
        if stop <= len(self.title.text):
            return "title", *self.title.raw_span(start, stop)
        shift = self.content_start
        return "content", *self.content.raw_span(start - shift, stop - shift)


def _altered(part: NormalisedText, raw: str) -> np.ndarray:
    """Tell of each normalised character whether its origin differs, or does not follow on: bool (n_chars,)."""
    starts, ends = np.array(part.starts, dtype=np.int64), np.array(part.ends, dtype=np.int64)
    if not len(starts):
        return np.zeros(0, dtype=bool)
    follows = np.append(True, starts[1:] == ends[:-1])
    same = (ends - starts == 1) & (_code_points(part.text) == _code_points(raw)[starts])
    return ~(follows & same)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
