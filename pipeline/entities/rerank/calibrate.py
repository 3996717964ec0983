"""From raw ranking scores to probabilities that a candidate is a core entity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.errors import ArtifactError


@dataclass(frozen=True)
class Calibrator:
    """Logistic regression on a score, its distance to the article's best, and the article's log-sum-exp.

    Ranking scores compare candidates of one article only; the last two terms carry what is known of
    the article as a whole, so that one scale serves all of them.
    """

    weights: tuple[float, ...]
    intercept: float

    @classmethod
    def fit(cls, scores: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> Calibrator:
        """Fit on out-of-fold scores; labels are 1 for gold entities."""
        terms = np.vstack([_terms(score) for score in scores if len(score)])
        gold = np.concatenate([label for label in labels if len(label)])
        if gold.min() == gold.max():
            return cls((1.0, 0.0, 0.0), 0.0)
        from sklearn.linear_model import LogisticRegression  # prediction does without

        model = LogisticRegression(C=1e3, max_iter=1000).fit(terms, gold)
        return cls(tuple(float(weight) for weight in model.coef_[0]), float(model.intercept_[0]))

    def probs(self, scores: np.ndarray) -> np.ndarray:
        """Return a probability for each candidate of one article: float64 (n_candidates,)."""
        if not len(scores):
            return np.zeros(0)
        logits = _terms(scores) @ np.array(self.weights) + self.intercept
        return np.array([_sigmoid(logit) for logit in logits.tolist()])

    def to_dict(self) -> dict[str, object]:
        """Return the parameters as JSON values."""
        return {"weights": list(self.weights), "intercept": self.intercept}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Calibrator:
        """Rebuild from ``to_dict``.

        Raises:
            ArtifactError: parameters are missing.
        """
        weights, intercept = values.get("weights"), values.get("intercept")
        if not isinstance(weights, list) or len(weights) != 3 or not isinstance(intercept, int | float):
            raise ArtifactError("calibrator: want three weights and an intercept")
        return cls(tuple(float(weight) for weight in weights), float(intercept))


def _terms(scores: np.ndarray) -> np.ndarray:
    clipped = np.clip(scores, -30.0, 30.0)
    return np.stack([clipped, clipped - clipped.max(), np.full(len(clipped), _log_sum_exp(clipped))], axis=1)


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit > -709 else 0.0  # exp would overflow


def _log_sum_exp(scores: np.ndarray) -> float:
    """Return the logarithm of the sum of exponentials, as ``scipy.special.logsumexp`` does: the largest stand apart."""
    top = scores.max()
    n_top = (scores == top).sum()
    rest = np.exp(np.where(scores == top, -np.inf, scores) - top).sum() / n_top
    return float(np.log1p(rest) + np.log(np.float64(n_top)) + top)
