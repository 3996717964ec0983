"""Probabilities over any set of classes: their loss, their temperature, and the weights of rare classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Probs = NDArray[np.float64]
"""(n_examples, n_classes), rows that sum to one."""

SMALLEST = 1e-12


def softmax(logits: NDArray[np.float64]) -> Probs:
    """Return the softmax over the last axis."""
    scaled = np.exp(logits - logits.max(-1, keepdims=True))
    result: Probs = scaled / scaled.sum(-1, keepdims=True)
    return result


def one_hot_ids(ids: Sequence[int], n_classes: int) -> NDArray[np.float64]:
    """Return (n_examples, n_classes): 1 in the column of each example's class id."""
    rows: NDArray[np.float64] = np.eye(n_classes)[np.asarray(ids, dtype=np.int64)]
    return rows


def log_loss(probs: Probs, truth: NDArray[np.float64]) -> float:
    """Return the mean negative log probability of the right classes; ``truth`` is one-hot."""
    return float(-np.log((probs * truth).sum(1).clip(min=SMALLEST)).mean())


def best_temperature(probs: Probs, truth: NDArray[np.float64]) -> float:
    """Return the temperature, between 1/20 and 20, under which the probabilities have the least log loss."""
    from scipy.optimize import minimize_scalar  # half a second that prediction need not pay

    found = minimize_scalar(
        lambda log_t: log_loss(with_temperature(probs, float(np.exp(log_t))), truth),
        bounds=(-np.log(20), np.log(20)),
        method="bounded",
    )
    return float(np.exp(found.x))


def with_temperature(probs: Probs, temperature: float) -> Probs:
    """Divide the log probabilities by a temperature: above 1 flattens, below 1 sharpens, the order stays."""
    logits = np.log(probs.clip(min=SMALLEST)) / temperature
    return softmax(logits)


def balanced_weights(truth: NDArray[np.float64], *, power: float) -> NDArray[np.float64]:
    """Return a weight a class, (n_classes,): (1 / frequency) ** power, a mean of 1 over the examples; 1 if absent."""
    counts = truth.sum(0)
    weights = np.where(counts > 0, counts.clip(min=1.0) ** -power, 0.0)
    scaled = weights * counts.sum() / (weights * counts).sum()
    return np.where(counts > 0, scaled, 1.0)
