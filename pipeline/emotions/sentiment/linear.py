"""Linear classifiers of sparse features: one coefficient for each feature and emotion, whatever emotions were seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.emotions.sentiment.design import Design
from pipeline.schema import EMOTIONS, Emotion

REGULARISATION = 1.0
"""C of scikit-learn: what the losses of all examples weigh against half the squared coefficients."""
MAX_STEPS, TOLERANCE = 1000, 1e-3
"""Of L-BFGS: most steps, and the largest entry of the gradient (of the mean loss) at which it stops."""

LOGIT_IF_ABSENT = -30.0
"""Of an emotion that training did not show."""

Linear = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Coefficients (n_features, n_emotions) and intercepts (n_emotions,)."""


class FitLinear(Protocol):
    """How a classifier is fitted."""

    def __call__(self, features: Design, gold: Sequence[Emotion], weights: dict[Emotion, float], /) -> Linear:
        """Fit to features (n_examples, n_features); ``weights`` is what an example of each emotion weighs."""
        ...


def fit_softmax(features: Design, gold: Sequence[Emotion], weights: dict[Emotion, float]) -> Linear:
    """Fit a logistic regression over all emotions at once."""
    coefficients, intercept, seen = _unseen(features, gold)
    if len(seen) == 1:
        return coefficients, intercept
    weight = _weight_of(gold, weights)
    columns = [EMOTIONS.index(emotion) for emotion in seen]
    if len(seen) == 2:
        # Against a first emotion whose logit is 0 the softmax of two is the sigmoid of the second.
        found, offset = _logistic(features, _is(gold, seen[1]), weight)
        coefficients[:, columns[1:]], intercept[columns[1]] = found, offset[0]
        return coefficients, intercept
    targets = np.stack([_is(gold, emotion)[:, 0] for emotion in seen], axis=1)
    coefficients[:, columns], intercept[columns] = _logistic(features, targets, weight)
    return coefficients, intercept


def fit_naive_bayes(features: Design, gold: Sequence[Emotion], weights: dict[Emotion, float]) -> Linear:
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
    weight = _weight_of(gold, weights)
    for emotion in seen:
        is_emotion = _is(gold, emotion)
        ratio = np.abs(
            _log_shares(features, weight * is_emotion[:, 0]) - _log_shares(features, weight * (1 - is_emotion[:, 0]))
        )
        found, offset = _logistic(features, is_emotion, weight, scale=ratio)
        column = EMOTIONS.index(emotion)
        coefficients[:, column], intercept[column] = found[:, 0] * ratio, offset[0]
    return coefficients, intercept


def _unseen(features: Design, gold: Sequence[Emotion]) -> tuple[*Linear, list[Emotion]]:
    """Return the model that knows which emotions there are, and nothing else; and these emotions."""
    seen = sorted(set(gold))
    intercept = np.full(len(EMOTIONS), LOGIT_IF_ABSENT)
    intercept[[EMOTIONS.index(emotion) for emotion in seen]] = 0.0
    return np.zeros((features.n_features, len(EMOTIONS))), intercept, seen


def _weight_of(gold: Sequence[Emotion], weights: dict[Emotion, float]) -> NDArray[np.float64]:
    return np.array([weights[emotion] for emotion in gold])


def _is(gold: Sequence[Emotion], emotion: Emotion) -> NDArray[np.float64]:
    """Return 1 where the emotion is this one: float64 (n_examples, 1)."""
    return np.array([[float(one == emotion)] for one in gold])


def _logistic(
    features: Design,
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    scale: NDArray[np.float64] | None = None,
) -> Linear:
    """Fit a logistic regression by L-BFGS, as scikit-learn's does, which would need all features in one matrix.

    It minimises the mean of the examples' losses, by weight, and ``|coefficients|^2 / (2 C sum of the weights)``.

    Args:
        features: (n_examples, n_features).
        targets: 0/1 (n_examples, n): of one column the sigmoid is fitted, of several their softmax.
        weight: of each example, (n_examples,).
        scale: what each feature is multiplied by, (n_features,).

    Returns:
        Coefficients of the scaled features (n_features, n), and intercepts (n,).
    """
    from scipy.optimize import minimize  # prediction does without

    n_columns, n_features = targets.shape[1], features.n_features
    shares = (weight / weight.sum())[:, None]
    penalty = 1.0 / (REGULARISATION * weight.sum())
    scales = np.ones((n_features, 1)) if scale is None else scale[:, None]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(n_features + 1, n_columns)
        logits = features.times(weights[:-1] * scales) + weights[-1]
        losses, slopes = (_sigmoid_loss if n_columns == 1 else _softmax_loss)(logits, targets)
        slopes *= shares
        gradient = np.empty_like(weights)
        gradient[:-1] = features.transposed_times(slopes) * scales + penalty * weights[:-1]
        gradient[-1] = slopes.sum(0)
        total = float((losses * shares[:, 0]).sum() + 0.5 * penalty * (weights[:-1] ** 2).sum())
        return total, gradient.ravel()

    options = {"maxiter": MAX_STEPS, "maxls": 50, "gtol": TOLERANCE, "ftol": 64 * np.finfo(float).eps}
    with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
        start = np.zeros((n_features + 1) * n_columns)
        found = minimize(loss, start, method="L-BFGS-B", jac=True, options=options).x.reshape(n_features + 1, n_columns)
    return found[:-1], found[-1]


def _sigmoid_loss(
    logits: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss of each example (n_examples,), and its slope by the logit (n_examples, 1)."""
    from scipy.special import expit

    losses = np.logaddexp(0.0, logits) - targets * logits
    return losses[:, 0], expit(logits) - targets


def _softmax_loss(
    logits: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss of each example (n_examples,), and its slopes by the logits (n_examples, n)."""
    shifted = logits - logits.max(1, keepdims=True)
    total = np.exp(shifted).sum(1, keepdims=True)
    return np.log(total[:, 0]) - (shifted * targets).sum(1), np.exp(shifted) / total - targets


def _log_shares(features: Design, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    counts = 1.0 + features.shown_times(weight)
    shares: NDArray[np.float64] = np.log(counts / counts.sum())
    return shares
