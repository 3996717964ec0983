"""The notation of a file's tags: recognised by all of them, read as spans of tokens, and written again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from pipeline.data.formats.tagging.conventions import ALPHABET, LETTERS, SPELLINGS, USUAL, Letters, Spelling
from pipeline.data.formats.tagging.row import Range
from pipeline.data.formats.tagging.tokens import by_overlap
from pipeline.errors import DataError
from pipeline.text.spans import OUTSIDE, Span, TagScheme

NOTATIONS = ("BI", "BIES", "BMES", "BILU", "BMEW")
"""Names of the conventions that can be told by their letters alone."""
PLAIN = ""
"""The letters of a notation in which each token is a span of its own, of which the tag is the type."""


class Fit(NamedTuple):
    """How well the tags of some rows keep the rules of a notation."""

    n_kept: int
    """Spans that are read."""
    n_lost: int
    """Runs of tags of one type that spell nothing."""
    n_long: int
    """Spans of several tokens that are read: those by which one can tell that the letters are understood."""

    @property
    def lost_share(self) -> float:
        """Share of the spans that would vanish."""
        return self.n_lost / max(1, self.n_kept + self.n_lost)

    @property
    def mostly_lost(self) -> bool:
        """Tell whether most spans of several tokens are lost."""
        return self.n_lost > 0 and self.n_lost >= self.n_long


@dataclass(frozen=True, slots=True)
class Notation:
    """How the tags of a file are spelt; spans here are ranges of tokens, unless said otherwise."""

    letters: str = NOTATIONS[0]
    """A name in ``conventions.LETTERS``, or ``PLAIN``."""
    spelling: Spelling = USUAL

    @classmethod
    def of(cls, tags: Iterable[str]) -> Notation:
        """Recognise the notation of a file by all of its tags.

        Tags are spelt with letters if one of them has the form "B-x", if all have one of the other forms, or if all
        are bare letters; otherwise they are plain, as in part-of-speech tagging.

        Raises:
            DataError: the letters belong to no notation.
        """
        distinct = set(tags) - {OUTSIDE}
        spelling = _spelling(distinct)
        if spelling is None:
            return cls(PLAIN)
        used = {part.letter for tag in distinct if (part := _split(tag, spelling))}
        for letters in LETTERS:
            if used <= set(LETTERS[letters].meaning):
                return cls(letters, spelling)
        raise DataError(
            f"tags begin with {', '.join(sorted(used))}: no notation has these (have: {', '.join(LETTERS)})"
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``str`` wrote.

        Raises:
            ValueError: it is none.
        """
        letters, *rest = text.split(" ")
        if letters != PLAIN and letters not in LETTERS:
            raise ValueError(f"no notation {letters!r}")
        return cls(letters, Spelling(rest[0], "suffix" in rest, "lower" in rest) if rest else USUAL)

    def __str__(self) -> str:
        if self.spelling == USUAL:
            return self.letters
        flags = [name for name in ("suffix", "lower") if getattr(self.spelling, name)]
        return " ".join([self.letters, self.spelling.joint, *flags])

    @property
    def is_plain(self) -> bool:
        """Tell whether each token is a span of its own."""
        return self.letters == PLAIN

    @property
    def rule(self) -> str:
        """What its letters mean, for messages."""
        return "plain tags, one a token" if self.is_plain else self._convention.rule

    def fit(self, rows: Iterable[Sequence[str]]) -> Fit:
        """Count the spans that the tags of rows spell, and those that are lost because they break the rules.

        Raises:
            DataError: a tag does not belong to the notation.
        """
        n_kept = n_lost = n_long = 0
        for tags in rows:
            spans, broken = self.spans(tags)
            n_kept += len(spans)
            n_lost += self._n_runs(tags, broken)
            n_long += sum(span.stop - span.start > 1 for span in spans)
        return Fit(n_kept, n_lost, n_long)

    def alternatives(self) -> list[Notation]:
        """Return the other readings of the same letters, in the order of the table."""
        if self.is_plain:
            return []
        return [Notation(name, self.spelling) for name in LETTERS if name != self.letters]

    def spans(self, tags: Sequence[str]) -> tuple[list[Span], list[int]]:
        """Return the spans that tags spell, and the tokens whose tags are none of "O" and yet spell nothing.

        Raises:
            DataError: a tag does not belong to the notation.
        """
        if self.is_plain:
            return [Span(index, index + 1, tag) for index, tag in enumerate(tags) if tag != OUTSIDE], []
        spans = self._scheme.decode(self._translated(tags))
        covered = {index for span in spans for index in range(span.start, span.stop)}
        return spans, [index for index, tag in enumerate(tags) if not self._is_outside(tag) and index not in covered]

    def tags(self, spans: Iterable[Span], n_tokens: int) -> list[str]:
        """Return the tags that spell spans; the inverse of ``spans``, but for IO, which parts no neighbours."""
        if self.is_plain:
            tags = [OUTSIDE] * n_tokens
            for start, stop, label in spans:
                tags[start:stop] = [label] * (stop - start)
            return tags
        convention, written = self._convention, [OUTSIDE] * n_tokens
        letter_of = {meaning: letter for letter, meaning in reversed(list(convention.meaning.items()))}
        previous: Span | None = None
        ordered = sorted(spans)
        encoded = self._scheme.encode(ordered, n_tokens)
        for span in ordered:
            letters = [letter_of.get(encoded[index][0], convention.begins) for index in range(span.start, span.stop)]
            if convention.last and len(letters) > 1:
                letters[-1] = convention.last
            if convention.opens_inside and not (
                previous and (previous.stop, previous.label) == (span.start, span.label)
            ):
                letters[0] = letter_of["I"]
            written[span.start : span.stop] = [self.spelling.join(letter, span.label) for letter in letters]
            previous = span
        return written

    def to_tokens(self, spans: Iterable[Span], tokens: Sequence[Range]) -> list[Span]:
        """Turn spans of characters without overlap into spans of tokens.

        Plain: a token gets the type of the span that shares most characters with it. Otherwise spans that begin or
        end inside a token are left out.
        """
        if self.is_plain:
            return by_overlap(spans, tokens)
        first = {start: index for index, (start, _) in enumerate(tokens)}
        last = {stop: index for index, (_, stop) in enumerate(tokens, 1)}
        return [
            Span(first[start], last[stop], label) for start, stop, label in spans if start in first and stop in last
        ]

    @property
    def _convention(self) -> Letters:
        return LETTERS[self.letters]

    @property
    def _scheme(self) -> TagScheme:
        return TagScheme(self._convention.scheme)

    def _is_outside(self, tag: str) -> bool:
        return tag == OUTSIDE or (self.spelling.lower and tag == OUTSIDE.lower())

    def _translated(self, tags: Sequence[str]) -> list[str]:
        """Return the tags of the scheme, as "B-PER"."""
        convention = self._convention
        translated: list[str] = []
        before: str | None = None  # the type of the span that may go on
        for tag in tags:
            if self._is_outside(tag):
                translated.append(OUTSIDE)
                before = None
                continue
            part = _split(tag, self.spelling)
            if part is None or part.letter not in convention.meaning:
                raise DataError(f"tag {tag!r} among tags in the notation {self.letters}")
            letter = convention.meaning[part.letter]
            if letter == "I" and convention.opens_inside and before != part.label:
                letter = "B"
            translated.append(f"{letter}-{part.label}" if part.label else letter)
            before = part.label
        return translated

    def _n_runs(self, tags: Sequence[str], broken: Sequence[int]) -> int:
        """Count runs of neighbouring broken tags of one type."""
        labels = {index: part.label for index in broken if (part := _split(tags[index], self.spelling))}
        return len(labels) - sum(
            second == first + 1 and labels[first] == labels[second] for first, second in pairwise(labels)
        )


class _Part(NamedTuple):
    letter: str
    """Upper case."""
    label: str


def _split(tag: str, spelling: Spelling) -> _Part | None:
    """Take a tag apart; None for one that is not spelt so."""
    if tag in ALPHABET and len(tag) == 1 and not spelling.lower:
        return _Part(tag, "")
    match = spelling.pattern.fullmatch(tag)
    return _Part(match["letter"].upper(), match["label"]) if match else None


def _spelling(tags: set[str]) -> Spelling | None:
    """Return how distinct tags are spelt; None for plain ones."""
    spelt = {tag for tag in tags if _split(tag, USUAL)}
    if spelt == tags or any(USUAL.joint in tag for tag in spelt):
        return USUAL
    for spelling in SPELLINGS:
        marked = tags - {OUTSIDE.lower()} if spelling.lower else tags
        if marked and all(_split(tag, spelling) for tag in marked):
            return spelling
    return None
