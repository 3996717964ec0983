"""Tokens of a text, and their integer ids."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


@dataclass(frozen=True, slots=True)
class TokenIds:
    """The tokens of a text as ids; token ``i`` stands for ``[starts[i], stops[i])`` of the text's characters."""

    ids: Sequence[int]
    starts: Sequence[int]
    stops: Sequence[int]

    def covering(self, start: int, stop: int) -> tuple[int, int]:
        """Return the half-open range of the tokens that share a character with ``[start, stop)``.

        An empty span, or one of blanks, gives an empty range at its place.
        """
        first = bisect_right(self.stops, start)
        return first, bisect_left(self.starts, stop) if start < stop else first


class TextReader(Protocol):
    """Cuts a text into tokens with ids: a vocabulary, or the pieces of an encoder."""

    @property
    def padding(self) -> int:
        """The id that fills rows up."""
        ...

    def read(self, text: str) -> TokenIds:
        """Cut a text; no special tokens are added."""
        ...


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


Split = Callable[[str], Tokens]
"""Cuts a text into tokens."""


class Vocabulary:
    """Token -> id. It is fitted: build it from the training part of a fold alone.

    Args:
        tokens: in the order of their ids.
        split: what cut the texts.
    """

    padding = PADDING

    def __init__(self, tokens: Sequence[str], *, split: Split = tokenise) -> None:
        self.tokens = list(tokens)
        self._split = split
        self._ids = {token: index for index, token in enumerate(self.tokens, UNKNOWN + 1)}
        if len(self._ids) != len(self.tokens):
            raise ValueError("the tokens of a vocabulary must differ from each other")

    @classmethod
    def build(cls, texts: Iterable[str], *, min_count: int = 2, split: Split = tokenise) -> Vocabulary:
        """Take every token that occurs ``min_count`` times, the frequent ones first, ties by token."""
        return cls.of_tokens((token for text in texts for token in split(text).forms), min_count=min_count, split=split)

    @classmethod
    def of_tokens(cls, tokens: Iterable[str], *, min_count: int = 2, split: Split = tokenise) -> Vocabulary:
        """Do the same with texts that are split already."""
        counts = Counter(tokens)
        kept = (token for token, n in counts.items() if n >= min_count)
        return cls(sorted(kept, key=lambda t: (-counts[t], t)), split=split)

    def __len__(self) -> int:
        """Number of ids, padding and unknown included."""
        return len(self.tokens) + UNKNOWN + 1

    def encode(self, forms: Iterable[str]) -> list[int]:
        """Return the id of each token; one that is not in the vocabulary gets ``UNKNOWN``."""
        return [self._ids.get(form, UNKNOWN) for form in forms]

    def read(self, text: str) -> TokenIds:
        """Cut a text into tokens with ids."""
        tokens = self._split(text)
        return TokenIds(self.encode(tokens.forms), tokens.starts, tokens.stops)

    def save(self, path: Path) -> None:
        """Write the tokens, in the order of their ids, as a JSON list."""
        atomic_write_json(path, self.tokens)

    @classmethod
    def load(cls, path: Path, *, split: Split = tokenise) -> Vocabulary:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: the file is missing or holds no list of tokens.
        """
        tokens = read_json(path)
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise ArtifactError(f"{path}: holds no list of tokens")
        return cls(tokens, split=split)
