"""Counts of n-grams, those that scikit-learn gives: of characters without a Python string for each, and of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.text import default_segmenter

MAX_CHARS = 3
"""Longest n-gram: three code points of 21 bits fill one signed 64-bit number."""

_BITS = 21
_WORD_BITS = 31
_BLANKS = re.compile(r"\s\s+")

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The columns of the terms that a text holds, rising, and how often it holds each."""


class TermCodes(Protocol):
    """N-grams as numbers: what texts of any number are counted by."""

    def count(self, text: str) -> Counts:
        """Return the codes of the n-grams of a text, rising, and how often it holds each."""
        ...

    def strings(self, codes: NDArray[np.int64]) -> list[str]:
        """Return the n-grams that codes stand for."""
        ...


def words_of(text: str) -> list[str]:
    """Return the words of a text; blanks are none."""
    return [word for word in default_segmenter().cut(text).forms if not word.isspace()]


def word_ngrams(text: str) -> list[str]:
    """Return the words of a text, and each two that follow each other, joined by a blank."""
    words = words_of(text)
    return [*words, *map(" ".join, pairwise(words))]


class WordCounter:
    """Counts the n-grams of words of a fixed vocabulary.

    As ``CountVectorizer(analyzer=word_ngrams, vocabulary=terms)`` does.

    Args:
        terms: distinct n-grams, as ``word_ngrams`` gives them.
    """

    def __init__(self, terms: Sequence[str]) -> None:
        self._columns = {term: column for column, term in enumerate(terms)}

    def count(self, text: str) -> Counts:
        """Count the terms of a text."""
        found, column_of = Counter(word_ngrams(text)), self._columns.get
        pairs = sorted((column, n) for term, n in found.items() if (column := column_of(term)) is not None)
        columns, counts = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return columns, counts


class NgramCounter:
    """Counts the n-grams of a fixed vocabulary.

    Gives the rows of ``CountVectorizer(analyzer="char", lowercase=False, vocabulary=terms)``: blanks in a row count
    as one, and the columns are the terms in their order.

    Args:
        terms: distinct n-grams of 1 to ``MAX_CHARS`` characters.
        sizes: shortest and longest n-gram to count.
    """

    def __init__(self, terms: Sequence[str], sizes: tuple[int, int]) -> None:
        if not 1 <= sizes[0] <= sizes[1] <= MAX_CHARS or any(len(term) > MAX_CHARS for term in terms):
            raise ValueError(f"n-grams have 1 to {MAX_CHARS} characters")
        self.sizes = sizes
        characters = np.zeros((MAX_CHARS, len(terms)), dtype=np.int64)
        lengths = np.fromiter(map(len, terms), np.int64, len(terms))
        for length in range(1, MAX_CHARS + 1):
            columns = np.flatnonzero(lengths == length)
            joined = _characters("".join([terms[column] for column in columns.tolist()]))
            characters[:length, columns] = joined.reshape(-1, length).T
        codes = _codes(characters)
        self._columns = np.argsort(codes)
        self._in_order = bool((np.diff(self._columns) > 0).all())
        self._known = codes[self._columns]

    def count(self, text: str) -> Counts:
        """Count the terms of a text."""
        codes, counts = _counted_codes(text, self.sizes)
        if not len(self._known):
            return codes[:0], counts[:0]
        places = np.minimum(np.searchsorted(self._known, codes), len(self._known) - 1)
        known = self._known[places] == codes
        columns, counts = self._columns[places[known]], counts[known]
        if self._in_order:  # as scikit-learn lists its terms
            return columns, counts
        order = np.argsort(columns)
        return columns[order], counts[order]


class CharCodes:
    """N-grams of 1 to ``MAX_CHARS`` characters; codes sort as the n-grams do."""

    def count(self, text: str) -> Counts:
        """Return the codes of the n-grams of a text, rising, and how often it holds each."""
        return _counted_codes(text, (1, MAX_CHARS))

    def strings(self, codes: NDArray[np.int64]) -> list[str]:
        """Return the n-grams that codes stand for."""
        return _strings(codes)


class WordCodes:
    """``word_ngrams`` of texts; words are numbered as they come."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}

    def count(self, text: str) -> Counts:
        """Return the codes of the n-grams of a text, rising, and how often it holds each."""
        number_of = self._number_of
        numbers = [number_of.setdefault(word, len(number_of) + 1) for word in words_of(text)]
        firsts = np.array(numbers, dtype=np.int64) << _WORD_BITS
        codes = np.concatenate([firsts, firsts[:-1] | np.array(numbers[1:], dtype=np.int64)])
        return np.unique(codes, return_counts=True)

    def strings(self, codes: NDArray[np.int64]) -> list[str]:
        """Return the n-grams that codes stand for."""
        words = ["", *self._number_of]
        firsts, seconds = codes >> _WORD_BITS, codes & ((1 << _WORD_BITS) - 1)
        pairs = zip(firsts.tolist(), seconds.tolist(), strict=True)
        return [f"{words[first]} {words[second]}" if second else words[first] for first, second in pairs]


def _counted_codes(text: str, sizes: tuple[int, int]) -> Counts:
    """Return the codes of the n-grams of a text, rising, and how often it holds each."""
    return np.unique(_all_codes(_characters(_BLANKS.sub(" ", text)), sizes), return_counts=True)


def _strings(codes: NDArray[np.int64]) -> list[str]:
    """Return the n-grams that codes stand for."""
    characters = [(codes >> shift * _BITS) & ((1 << _BITS) - 1) for shift in (2, 1, 0)]
    return ["".join(chr(point - 1) for point in points if point) for points in np.stack(characters, 1).tolist()]


def _characters(text: str) -> np.ndarray:
    """Return the code points plus one, so that 0 stands for none: int64 (n_characters,)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64) + 1


def _all_codes(characters: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """Return the code of every n-gram of a text: int64."""
    padded = np.pad(characters, (0, MAX_CHARS - 1))
    n = len(characters)
    found = []
    for size in range(sizes[0], sizes[1] + 1):
        if n >= size:
            parts = [padded[place : place + n - size + 1] if place < size else 0 for place in range(MAX_CHARS)]
            found.append(_codes(parts))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _codes(parts: Sequence[np.ndarray | int] | np.ndarray) -> np.ndarray:
    """Pack the characters of n-grams so that codes sort as the strings do."""
    first, second, third = parts
    return (np.asarray(first) << 2 * _BITS) | (np.asarray(second) << _BITS) | third
