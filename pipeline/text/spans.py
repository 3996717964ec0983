"""Spans of texts, and tag schemes: spans to tags and back.

Policy, in training figures and in prediction: **strict**. A sequence that breaks its scheme's rules names no entity
there (BIO: an I that follows no B or I of its label; BIESO: whatever is not S, or B I* E of one label). The lenient
reading, which takes such remains for entities, exists for comparison with tools that do so.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

OUTSIDE = "O"

SchemeName = Literal["BIO", "BIESO", "WORD"]


class Span(NamedTuple):
    """The half-open range of an entity, in whatever units the context says, with its type ("" where there is one)."""

    start: int
    stop: int
    label: str = ""


class ScoredSpan(NamedTuple):
    """A span with the probability that it is an entity."""

    start: int
    stop: int
    prob: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text with the entities marked in it, in characters; none are marked in a text that is to be tagged."""

    text: str
    spans: tuple[Span, ...] = ()
    title_stop: int = 0
    """``text[:title_stop]`` is the title, and the character after it separates; 0: the text has no title."""
    words: tuple[str, ...] = ()
    """Given words that are tagged one by one; where there are some, spans count words, and the text is not read."""
    unknown: tuple[tuple[int, int], ...] = ()
    """Ranges of which nobody knows whether they belong to an entity."""


@dataclass(frozen=True)
class TagScheme:
    """The tags of some entity types, "O" first, and which tag may follow which.

    Args:
        name: BIO (begin, inside, outside), BIESO (begin, inside, end, single, outside), or WORD: one label a token, as
            in part-of-speech tagging; the labels are the tags, "O" is one of them or none, and any may follow any.
        labels: the entity types; a single "" makes bare tags ("B"), others "B-POS" and so on.
    """

    name: SchemeName
    labels: tuple[str, ...] = ("",)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Every tag; its place is its id."""
        if self.name == "WORD":
            return self.labels
        prefixes = "BI" if self.name == "BIO" else "BIES"
        return (OUTSIDE, *(_tag(prefix, label) for label in self.labels for prefix in prefixes))

    @cached_property
    def ids(self) -> dict[str, int]:
        """Tag to id."""
        return {tag: index for index, tag in enumerate(self.tags)}

    def encode(self, spans: Iterable[Span], length: int) -> list[str]:
        """Return the tags of ``length`` items; the spans must lie inside and not overlap.

        Raises:
            ValueError: they do.
        """
        tags = [OUTSIDE] * length
        for start, stop, label in spans:
            if not 0 <= start < stop <= length or any(tag != OUTSIDE for tag in tags[start:stop]):
                raise ValueError(f"span [{start}, {stop}) leaves [0, {length}) or overlaps another")
            if self.name == "WORD":
                tags[start:stop] = [label] * (stop - start)
                continue
            inner = [_tag("I", label)] * (stop - start - 1)
            tags[start:stop] = [_tag("B", label), *inner]
            if self.name == "BIESO":
                tags[stop - 1] = _tag("E" if inner else "S", label)
        return tags

    def decode(self, tags: Sequence[str], *, strict: bool = True) -> list[Span]:
        """Return the spans that tags spell, in order; never raises, see the module on what is malformed.

        Args:
            tags: "B", "I-POS" and so on; a prefix that is none of the scheme's reads as "O".
            strict: drop what is malformed; otherwise a span may begin with I or E, and end before any other tag.
        """
        if self.name == "WORD":
            return [Span(index, index + 1, tag) for index, tag in enumerate(tags)]
        spans: list[Span] = []
        start, label = -1, ""  # of the open span; -1: none is open
        for index, tag in enumerate([*tags, OUTSIDE]):
            prefix, _, kind = tag.partition("-")
            if start >= 0 and not (prefix in self._inner and kind == label):
                if self.name == "BIO" or not strict:
                    spans.append(Span(start, index, label))
                start = -1
            if start < 0 and (prefix in self._opening or (not strict and prefix in self._inner)):
                start, label = index, kind
            if start >= 0 and prefix in self._closing:
                spans.append(Span(start, index + 1, label))
                start = -1
        return spans

    @cached_property
    def continues(self) -> np.ndarray:
        """Tell, as bool (n_tags, n_tags), where the second tag goes on with the span of the first."""
        return np.array([[self._continues(first, second) for second in self.tags] for first in self.tags])

    @cached_property
    def allowed(self) -> np.ndarray:
        """Tell, as bool (n_tags, n_tags), where the second tag may follow the first."""
        # An open span of BIESO must go on; nothing but the span it belongs to may come before I or E.
        return self.continues | (self.may_end[:, None] & self.may_begin[None, :])

    @cached_property
    def may_begin(self) -> np.ndarray:
        """Tell, as bool (n_tags,), which tags may come first."""
        return np.array([self.name == "WORD" or tag[0] not in self._inner for tag in self.tags])

    @cached_property
    def may_end(self) -> np.ndarray:
        """Tell, as bool (n_tags,), which tags may come last."""
        return np.array([self.name != "BIESO" or tag[0] not in ("B", "I") for tag in self.tags])

    @cached_property
    def begins_span(self) -> np.ndarray:
        """Tell, as bool (n_tags,), which tags open a span: B and S."""
        return np.array([self.name == "WORD" or tag[0] in self._opening for tag in self.tags])

    @cached_property
    def label_of(self) -> np.ndarray:
        """Give, as int64 (n_tags,), the index of each tag's label, -1 for O."""
        if self.name == "WORD":
            return np.arange(len(self.labels))
        return np.array([-1, *np.repeat(np.arange(len(self.labels)), (len(self.tags) - 1) // len(self.labels))])

    @cached_property
    def bare(self) -> TagScheme:
        """The scheme of the boundaries alone: one nameless label."""
        return TagScheme(self.name)

    @cached_property
    def bare_of(self) -> np.ndarray:
        """Give, as int64 (n_tags,), the id of each tag in ``bare``."""
        return np.array([self.bare.ids[tag.partition("-")[0]] for tag in self.tags])

    def _continues(self, first: str, second: str) -> bool:
        if self.name == "WORD":
            return False
        (before, _, label), (after, _, kind) = first.partition("-"), second.partition("-")
        return before in ("B", "I") and after in self._inner and label == kind

    @property
    def _opening(self) -> tuple[str, ...]:
        return ("B",) if self.name == "BIO" else ("B", "S")

    @property
    def _inner(self) -> tuple[str, ...]:
        return ("I",) if self.name == "BIO" else ("I", "E")

    @property
    def _closing(self) -> tuple[str, ...]:
        return () if self.name == "BIO" else ("E", "S")


def choose_spans(spans: Iterable[Span]) -> tuple[list[Span], list[Span]]:
    """Return a set of spans without overlap, the longest first (the earlier at a tie), in order; and the others."""
    kept: list[Span] = []  # in order: of those that begin before a span's stop, only the last can reach into it
    beaten: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.stop, span)):
        place = bisect_left(kept, span.stop, key=lambda other: other.start)
        if place == 0 or kept[place - 1].stop <= span.start:
            insort(kept, span)
        else:
            beaten.append(span)
    return kept, beaten


def _tag(prefix: str, label: str) -> str:
    return f"{prefix}-{label}" if label else prefix
