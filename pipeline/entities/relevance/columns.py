"""Columns of the reranker that rest on the relevance scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.entities.features.context import rank_descending

COLUMNS = ("score", "rank", "minus_best")
"""Names of the columns of ``relevance_columns``, in order."""


def relevance_columns(scores: np.ndarray) -> dict[str, np.ndarray]:
    """Describe the candidates of one article: their score, its rank (0 the best), and its distance to the best.

    Args:
        scores: float64 (n_candidates,).
    """
    columns = (scores, rank_descending(scores), scores - scores.max(initial=0.0))
    return dict(zip(COLUMNS, columns, strict=True))


def with_relevance(names: Sequence[str], matrix: np.ndarray, scores: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Append the columns of an article to its features; return all names and the wider matrix.

    Args:
        names: of the features so far.
        matrix: float32 (n_candidates, n_features).
        scores: float64 (n_candidates,).
    """
    columns = relevance_columns(scores)
    added = np.stack(list(columns.values()), axis=1).astype(np.float32)
    return [*names, *(f"relevance.{name}" for name in columns)], np.hstack([matrix, added])
