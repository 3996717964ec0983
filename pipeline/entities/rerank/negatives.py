"""Which candidates the trees learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def drawn(articles: Sequence[T], n: int, *, seed: int) -> list[T]:
    """Return ``n`` of the articles in their order, drawn by ``seed``; all of them where there are no more, or for 0."""
    if not 0 < n < len(articles):
        return list(articles)
    return [articles[row] for row in sorted(np.random.default_rng(seed).permutation(len(articles))[:n].tolist())]


def training_rows(
    scores: np.ndarray, labels: np.ndarray, sizes: Sequence[int], *, n_hard: int, share: float, seed: int
) -> tuple[np.ndarray, list[int]]:
    """Keep the gold candidates of each article, its hardest negatives, and some of the others.

    Negatives that any model tells apart teach little and are most of the candidates. Some of them stay, so that what is
    learnt from the hard ones alone does not go wrong on them.

    Args:
        scores: float64 (n_rows,): of a first model; high negatives are hard. Ties go to the earlier row.
        labels: (n_rows,): above 0 for gold candidates.
        sizes: rows of each article, in order.
        n_hard: negatives of each article that are kept for their score.
        share: of the other negatives, 0 to 1.
        seed: of the draw among them.

    Returns:
        The kept rows, int64, rising, and how many of them each article has.
    """
    chances = np.random.default_rng(seed).random(len(scores))
    kept, counts, begin = [], [], 0
    for size in sizes:
        part = slice(begin, begin + size)
        is_gold = labels[part] > 0
        order = np.argsort(np.where(is_gold, np.inf, -scores[part]), kind="stable")
        is_hard = np.zeros(size, dtype=bool)
        is_hard[order[:n_hard]] = True
        rows = np.flatnonzero(is_gold | is_hard | (chances[part] < share)) + begin
        kept.append(rows)
        counts.append(len(rows))
        begin += size
    return np.concatenate(kept).astype(np.int64), counts
