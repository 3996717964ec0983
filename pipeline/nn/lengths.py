"""Lengths of rows: those that are alike together, and few different ones."""

from __future__ import annotations

import numpy as np

LENGTH_STEP = 16
"""Tokens that lengths are rounded up to. On a CPU, oneDNN keeps what it compiles for each shape that it meets, and the
memory of a process would grow with every new length."""

BATCHES_A_STRETCH = 8
"""Batches cut from one stretch of a shuffled epoch, sorted by length: more means less padding, but less chance."""


def batches_by_length(
    lengths: np.ndarray, *, batch_size: int, rng: np.random.Generator | None = None
) -> list[np.ndarray]:
    """Spread row numbers evenly over the fewest batches, rows of similar length together.

    Args:
        lengths: int64 (n_rows,).
        batch_size: most rows of a batch.
        rng: shuffles, sorting by length only within a stretch of ``BATCHES_A_STRETCH`` batches; None sorts all.
    """
    n_batches = -(-len(lengths) // batch_size)
    if rng is None:
        return _split_by_length(np.arange(len(lengths)), lengths, n_batches)
    pieces = np.array_split(rng.permutation(len(lengths)), max(1, n_batches))
    stretches = [pieces[first : first + BATCHES_A_STRETCH] for first in range(0, n_batches, BATCHES_A_STRETCH)]
    batches = [rows for part in stretches for rows in _split_by_length(np.concatenate(part), lengths, len(part))]
    return [batches[index] for index in rng.permutation(len(batches))]


def _split_by_length(rows: np.ndarray, lengths: np.ndarray, n_batches: int) -> list[np.ndarray]:
    by_length = rows[np.argsort(lengths[rows], kind="stable")]
    return np.array_split(by_length, n_batches) if n_batches else []
