"""A cheap first ranking that keeps an article's best candidates for the full features.

A logistic regression over a few columns; it exists so that features and reranker see 150 candidates
an article instead of several hundred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.entities.candidates import CandidateSet, Source
from pipeline.entities.tagging import tagger_columns
from pipeline.errors import ArtifactError
from pipeline.text import Segmenter

COLUMNS = (
    "log_tf",
    "tf_share",
    "in_title",
    "log_tf_in_title",
    "log_first",
    "first_share",
    "length",
    "length_squared",
    "corpus_frequency",
    "tagger_max",
    "tagger_title_max",
    *(f"from_{source.name}".lower() for source in Source),
)
"""Columns of ``pruning_matrix``, stored with the weights and compared when they are loaded."""


def pruning_matrix(candidates: CandidateSet, segmenter: Segmenter) -> np.ndarray:
    """Return the cheap columns of an article's candidates: float64 (n_candidates, n_columns)."""
    tf = candidates.counts.astype(np.float64)
    log_tf = np.log(tf)
    first = candidates.firsts.astype(np.float64)
    in_title = first < candidates.document.content_start
    length = candidates.lengths.astype(np.float64)
    tagger = tagger_columns(candidates, candidates.tagged or ())
    columns = [
        log_tf,
        tf / tf.max(initial=1),
        in_title,
        log_tf * in_title,
        np.log1p(first),
        first / max(len(candidates.document.text), 1),
        length,
        length**2,
        np.array(segmenter.log_frequencies(candidates.keys)),
        tagger["max"],
        tagger["title_max"],
        *((candidates.sources & int(source)) > 0 for source in Source),
    ]
    return np.stack(columns, axis=1).astype(np.float64) if len(candidates) else np.empty((0, len(COLUMNS)))


@dataclass(frozen=True)
class Pruner:
    """Linear weights over ``pruning_matrix``."""

    weights: np.ndarray
    """float64 (n_columns,)."""

    @classmethod
    def fit(cls, matrices: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> Pruner:
        """Fit the weights on the candidates of several articles; labels are 1 for gold entities."""
        if not matrices:
            return cls(np.zeros(len(COLUMNS)))
        stacked = np.vstack(matrices)
        scale = np.maximum(stacked.std(axis=0), 1e-9)
        gold = np.concatenate(labels)
        if gold.min() == gold.max():
            return cls(np.zeros(len(COLUMNS)))
        from sklearn.linear_model import LogisticRegression  # prediction does without

        with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
            model = LogisticRegression(max_iter=1000).fit((stacked - stacked.mean(axis=0)) / scale, gold)
        return cls(model.coef_[0] / scale)

    def keep(self, candidates: CandidateSet, segmenter: Segmenter, limit: int) -> CandidateSet:
        """Return the ``limit`` best candidates, still in order of first occurrence; the earlier wins a tie."""
        if len(candidates) <= limit:
            return candidates
        # Rounded, so that the last bits of a sum, which differ between machines, decide nothing.
        scores = np.round(pruning_matrix(candidates, segmenter) @ self.weights, 9)
        return candidates.take(np.sort(np.argsort(-scores, kind="stable")[:limit]))

    def to_dict(self) -> dict[str, float]:
        """Return the weights by column."""
        return dict(zip(COLUMNS, self.weights.tolist(), strict=True))

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> Pruner:
        """Rebuild from ``to_dict``.

        Raises:
            ArtifactError: the columns are not those of this version.
        """
        if tuple(values) != COLUMNS:
            raise ArtifactError(f"pruner: has columns {list(values)}, this version wants {list(COLUMNS)}")
        return cls(np.array(list(values.values()), dtype=np.float64))
