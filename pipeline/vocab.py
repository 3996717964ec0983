"""Tokens of a text, and their integer ids."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.errors import ArtifactError

PADDING, UNKNOWN = 0, 1
"""Ids with a fixed meaning; tokens are counted from 2."""

_TOKEN = re.compile(r"[a-z0-9]+|\S")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text; token ``i`` is ``text[starts[i]:stops[i]]``. Blanks belong to none."""

    forms: list[str]
    starts: list[int]
    stops: list[int]

    def covering(self, start: int, stop: int) -> tuple[int, int]:
        """Return the half-open range of the tokens that share a character with ``[start, stop)``.

        An empty span, or one of blanks, gives an empty range at its place.
        """
        first = bisect_right(self.stops, start)
        return first, bisect_left(self.starts, stop) if start < stop else first


def tokenise(text: str) -> Tokens:
    """Split a normalised text into characters; a run of Latin letters and digits stays one token."""
    matches = list(_TOKEN.finditer(text))
    return Tokens([m.group() for m in matches], [m.start() for m in matches], [m.end() for m in matches])


def window_around(length: int, first: int, last: int, size: int) -> tuple[int, int]:
    """Choose ``size`` of ``length`` items around ``[first, last)``, cutting on the sides away from it.

    Each side gets half of what the middle leaves, and what the other side has no use for.
    """
    if length <= size:
        return 0, length
    spare = max(0, size - (last - first))
    before = min(first, max(spare // 2, spare - (length - last)))
    return first - before, first - before + size


class Vocabulary:
    """Token -> id. It is fitted: build it from the training part of a fold alone."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self._ids = {token: index for index, token in enumerate(self.tokens, UNKNOWN + 1)}
        if len(self._ids) != len(self.tokens):
            raise ValueError("the tokens of a vocabulary must differ from each other")

    @classmethod
    def build(cls, texts: Iterable[str], *, min_count: int = 2) -> Vocabulary:
        """Take every token that occurs ``min_count`` times, the frequent ones first, ties by token."""
        return cls.of_tokens((token for text in texts for token in tokenise(text).forms), min_count=min_count)

    @classmethod
    def of_tokens(cls, tokens: Iterable[str], *, min_count: int = 2) -> Vocabulary:
        """Do the same with texts that are split already."""
        counts = Counter(tokens)
        return cls(sorted((token for token, n in counts.items() if n >= min_count), key=lambda t: (-counts[t], t)))

    def __len__(self) -> int:
        """Number of ids, padding and unknown included."""
        return len(self.tokens) + UNKNOWN + 1

    def encode(self, forms: Iterable[str]) -> list[int]:
        """Return the id of each token; one that is not in the vocabulary gets ``UNKNOWN``."""
        return [self._ids.get(form, UNKNOWN) for form in forms]

    def save(self, path: Path) -> None:
        """Write the tokens, in the order of their ids, as a JSON list."""
        atomic_write_json(path, self.tokens)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: the file is missing or holds no list of tokens.
        """
        tokens = read_json(path)
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise ArtifactError(f"{path}: holds no list of tokens")
        return cls(tokens)
