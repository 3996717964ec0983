"""Pairs of whole texts as batches of token ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from pipeline.entities.relevance.encoding import TokenReader
from pipeline.entities.relevance.matchers.base import PairBatch, Side
from pipeline.entities.relevance.tokens import Mode, token_bounds
from pipeline.nn.lengths import batches_by_length
from pipeline.text import default_segmenter, normalise

TextPair = tuple[str, str]
Ids = np.ndarray
"""int64 (n_tokens,)."""


def text_tokens(text: str, mode: Mode) -> list[str]:
    """Cut an untouched text into the tokens that matchers read: characters or words of its normalised form."""
    clean = normalise(text).text
    starts = default_segmenter().cut(clean).starts if mode == "word" else ()
    return [clean[start:stop] for start, stop in token_bounds(clean, starts, mode).tolist()]


def read_ids(tokens: Sequence[str], reader: TokenReader, max_tokens: int) -> Ids:
    """Return the ids of the first ``max_tokens`` tokens that are no stopwords."""
    return reader.encode(tokens)[reader.is_read(tokens)][:max_tokens]


class LabelledPairs:
    """Training batches of pairs, in another order each epoch, pairs of similar length together.

    Args:
        left: ids of the first text of each pair.
        right: ids of the second.
        labels: float (n_pairs,), 0 to 1.
        batch_size: most pairs of a batch.
        seed: the order of an epoch depends on it and on the epoch's number alone.
    """

    def __init__(
        self, left: Sequence[Ids], right: Sequence[Ids], labels: np.ndarray, *, batch_size: int, seed: int
    ) -> None:
        self._left, self._right = left, right
        self._labels = torch.tensor(labels, dtype=torch.float32)
        self._batch_size, self._seed = batch_size, seed

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-len(self._labels) // self._batch_size)

    def epoch(self, number: int) -> Iterator[PairBatch]:
        """Yield the batches of an epoch."""
        rng = np.random.default_rng([self._seed, number])
        for rows in batches_by_length(_lengths(self._left, self._right), batch_size=self._batch_size, rng=rng):
            yield _batch(self._left, self._right, rows, self._labels[rows])


def prediction_batches(
    left: Sequence[Ids], right: Sequence[Ids], *, batch_size: int
) -> Iterator[tuple[np.ndarray, PairBatch]]:
    """Yield row numbers and pairs, pairs of similar length together."""
    for rows in batches_by_length(_lengths(left, right), batch_size=batch_size):
        yield rows, _batch(left, right, rows)


def _lengths(left: Sequence[Ids], right: Sequence[Ids]) -> np.ndarray:
    """Return the tokens of each pair: int64 (n_pairs,)."""
    return np.array([len(a) + len(b) for a, b in zip(left, right, strict=True)], dtype=np.int64)


def _batch(
    left: Sequence[Ids], right: Sequence[Ids], rows: np.ndarray, labels: torch.Tensor | None = None
) -> PairBatch:
    return PairBatch(Side.of([left[row] for row in rows]), Side.of([right[row] for row in rows]), labels)
