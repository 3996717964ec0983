"""The n-grams of one field and what each weighs: the rows of its texts."""

from __future__ import annotations

from functools import cached_property, lru_cache
from hashlib import sha256
from typing import ClassVar, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from pipeline.emotions.sentiment.counted import CountedField, Tokens
from pipeline.emotions.sentiment.design import Block
from pipeline.emotions.sentiment.ngrams import NgramCounter, WordCounter
from pipeline.text import SEPARATOR

NGRAMS = (1, 3)
"""Shortest and longest n-gram of characters."""

Row = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The columns of a row that are not 0, rising, and their values."""

REMEMBERED = 160
"""Texts of which a field remembers the row: a chunk of 32 articles has at most three targets in each."""


class Weighing:
    """N-grams of one field and their weights: what ``TfidfVectorizer(sublinear_tf=True)`` gives, counted faster."""

    _all: ClassVar[WeakValueDictionary[bytes, Weighing]] = WeakValueDictionary()

    def __init__(self, terms: list[str], idf: NDArray[np.float64], tokens: Tokens) -> None:
        self.terms = terms
        self.idf = idf
        self.tokens = tokens
        self.row = lru_cache(maxsize=REMEMBERED)(self._row)
        """``_row``; the targets of an article share its text, and members of the same n-grams all texts."""

    @classmethod
    def fit(
        cls, counted: CountedField, rows: NDArray[np.int64], tokens: Tokens, min_count: int
    ) -> tuple[NDArray[np.int64], Self]:
        """Take the n-grams that so many of the examples hold, weighed by ``log((1 + n) / (1 + n_examples)) + 1``.

        Returns:
            Their columns among those that were counted, rising, and the weighing.
        """
        n_examples = counted.n_examples(rows)
        columns = np.flatnonzero(n_examples >= min_count)
        idf = np.log((len(rows) + 1.0) / (n_examples[columns] + 1.0)) + 1.0
        return columns, cls([counted.terms[column] for column in columns.tolist()], idf, tokens)

    @classmethod
    def shared(cls, terms: list[str], idf: NDArray[np.float64], tokens: Tokens) -> Weighing:
        """Return what a member that is in memory has already, where its terms and weights are the same."""
        facts = (tokens.encode(), SEPARATOR.join(terms).encode("utf-8", "surrogatepass"), idf.tobytes())
        key = sha256(b"\0".join(facts)).digest()
        found = cls._all.get(key)
        if found is None:
            cls._all[key] = found = cls(terms, idf, tokens)
        return found

    @cached_property
    def _counter(self) -> NgramCounter | WordCounter:
        return NgramCounter(self.terms, NGRAMS) if self.tokens == "char" else WordCounter(self.terms)

    def _row(self, text: str) -> Row:
        """Return the terms of a text and their weights, the squares of which sum to 1."""
        return self._weighed(*self._counter.count(text))

    def block(self, counted: CountedField, rows: NDArray[np.int64], columns: NDArray[np.int64], weight: float) -> Block:
        """Return the features of some of the counted examples.

        Args:
            counted: the n-grams of the field.
            rows: numbers of the examples.
            columns: of the weighing's terms among those that were counted, rising.
            weight: of the field.
        """
        from scipy import sparse  # prediction does without

        column_of = np.full(len(counted.terms), -1, dtype=np.int64)
        column_of[columns] = np.arange(len(columns))
        texts, text_of = np.unique(counted.text_of[rows], return_inverse=True)
        n_most = int(sum(counted.offsets[text + 1] - counted.offsets[text] for text in texts.tolist()))
        values, indices = np.empty(n_most), np.empty(n_most, dtype=np.int32)  # pages that are not used cost nothing
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        for row, text in enumerate(texts.tolist()):
            found, counts = counted.of_text(text)
            of_text = column_of[found]
            known = of_text >= 0
            of_text, of_values = self._weighed(of_text[known], counts[known])
            begin, end = offsets[row], offsets[row] + len(of_text)
            indices[begin:end], values[begin:end], offsets[row + 1] = of_text, of_values * weight, end
        end = offsets[-1]
        if end < np.iinfo(np.int32).max:  # scipy would copy the other index array otherwise
            offsets = offsets.astype(np.int32)
        shape = (len(texts), len(self.terms))
        return Block(sparse.csr_matrix((values[:end], indices[:end], offsets), shape=shape), text_of)

    def _weighed(self, columns: NDArray[np.int64], counts: NDArray[np.int64]) -> Row:
        values = (np.log(counts.astype(np.float64)) + 1.0) * self.idf[columns]
        norm = np.sqrt(np.cumsum(values * values)[-1]) if len(values) else 1.0  # summed in the order of scikit-learn
        return columns, values / norm if norm else values
