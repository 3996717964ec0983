"""Columns that depend on other articles: they are computed from counts that leave the article's fold out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.entities.features.context import Columns, rank_descending
from pipeline.entities.features.statistics import KeyCounts


def idf(keys: Sequence[str], tf: np.ndarray, counts: KeyCounts) -> Columns:
    """Rarity of the name among the fitted articles."""
    values = np.log((1 + counts.n_articles) / (1 + counts.lookup(keys)[:, 0]))
    tf_idf = tf * values
    return {
        "idf": values,
        "tf_idf": tf_idf,
        "tf_idf_rank": rank_descending(tf_idf),
        "tf_idf_share": tf_idf / max(tf_idf.max(initial=0.0), 1e-9),
    }


def hit_rate(keys: Sequence[str], counts: KeyCounts, smoothing: float) -> Columns:
    """How often the name was gold in the fitted articles."""
    offered_and_gold = counts.lookup(keys)
    return {
        "hit_rate": counts.shrunk(offered_and_gold, smoothing),
        "n_offered": offered_and_gold[:, 0],
        "n_gold": offered_and_gold[:, 1],
    }
