"""Linear classifiers of sparse features: one coefficient for each feature and emotion, whatever emotions were seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.schema import EMOTIONS, Emotion

if TYPE_CHECKING:
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

REGULARISATION = 1.0
"""scikit-learn's C."""

LOGIT_IF_ABSENT = -30.0
"""Of an emotion that training did not show."""

Linear = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Coefficients (n_features, n_emotions) and intercepts (n_emotions,)."""


class FitLinear(Protocol):
    """How a classifier is fitted."""

    def __call__(
        self, features: sparse.csr_matrix, gold: Sequence[Emotion], weights: dict[Emotion, float], /
    ) -> Linear:
        """Fit to features (n_examples, n_features); ``weights`` is what an example of each emotion weighs."""
        ...


def fit_softmax(features: sparse.csr_matrix, gold: Sequence[Emotion], weights: dict[Emotion, float]) -> Linear:
    """Fit a logistic regression over all emotions at once."""
    coefficients, intercept, seen = _unseen(features, gold)
    if len(seen) == 1:
        return coefficients, intercept
    model = _logistic(features, np.array([emotion.value for emotion in gold]), gold, weights)
    # Of two classes scikit-learn keeps the second alone; against a first that is zero the softmax is its sigmoid.
    rows = model.coef_ if len(seen) > 2 else np.vstack([np.zeros_like(model.coef_), model.coef_])
    offsets = model.intercept_ if len(seen) > 2 else np.array([0.0, model.intercept_[0]])
    columns = [EMOTIONS.index(emotion) for emotion in seen]
    coefficients[:, columns], intercept[columns] = rows.T, offsets
    return coefficients, intercept


def fit_naive_bayes(features: sparse.csr_matrix, gold: Sequence[Emotion], weights: dict[Emotion, float]) -> Linear:
    """Fit, for each emotion against the rest, a logistic regression on features scaled by their log-count ratio.

    Paper: Wang and Manning, ACL 2012, "Baselines and Bigrams" (NBSVM). With f the 0/1 indicators of the features, over
    the examples of an emotion and over the others::

        r = log((1 + sum f of the emotion) / |.|_1) - log((1 + sum f of the others) / |.|_1)

    so that a feature that does not tell the emotion from the others is damped. Deviations: logistic loss for the
    squared hinge; what is scaled are the features as they come (TF-IDF), not their indicators; |r| for r, which is the
    same model under the symmetric penalty; examples weigh by emotion in the counts, too; no interpolation with the
    mean weight (beta of the paper is 1).
    """
    coefficients, intercept, seen = _unseen(features, gold)
    if len(seen) == 1:
        return coefficients, intercept
    shown = (features > 0).astype(np.float64)
    weight = np.array([weights[emotion] for emotion in gold])
    for emotion in seen:
        is_emotion = np.array([one == emotion for one in gold])
        ratio = np.abs(_log_shares(shown, weight * is_emotion) - _log_shares(shown, weight * ~is_emotion))
        model = _logistic(features.multiply(ratio).tocsr(), is_emotion, gold, weights)
        column = EMOTIONS.index(emotion)
        coefficients[:, column], intercept[column] = model.coef_[0] * ratio, model.intercept_[0]
    return coefficients, intercept


def _unseen(features: sparse.csr_matrix, gold: Sequence[Emotion]) -> tuple[*Linear, list[Emotion]]:
    """Return the model that knows which emotions there are, and nothing else; and these emotions."""
    seen = sorted(set(gold))
    intercept = np.full(len(EMOTIONS), LOGIT_IF_ABSENT)
    intercept[[EMOTIONS.index(emotion) for emotion in seen]] = 0.0
    return np.zeros((features.shape[1], len(EMOTIONS))), intercept, seen


def _logistic(
    features: sparse.csr_matrix, labels: NDArray[np.generic], gold: Sequence[Emotion], weights: dict[Emotion, float]
) -> LogisticRegression:
    from sklearn.linear_model import LogisticRegression  # prediction does without

    model = LogisticRegression(C=REGULARISATION, max_iter=1000, tol=1e-3)
    with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
        return model.fit(features, labels, sample_weight=[weights[emotion] for emotion in gold])


def _log_shares(shown: sparse.csr_matrix, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    counts = 1.0 + shown.T @ weight
    shares: NDArray[np.float64] = np.log(counts / counts.sum())
    return shares
