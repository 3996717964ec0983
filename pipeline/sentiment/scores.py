"""How good emotion probabilities are, and the temperature that makes them honest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from pipeline.schema import EMOTIONS, Emotion

Probs = NDArray[np.float64]
"""(n_examples, n_emotions), columns in the order of ``EMOTIONS``, rows that sum to one."""

SMALLEST = 1e-12
N_BINS = 10


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of one row of the table: a member, or an average of members."""

    member: str
    accuracy: float
    macro_f1: float
    f1: dict[str, float]
    """By emotion."""
    log_loss: float
    """Mean over the examples, in nats."""
    ece: float
    """Expected calibration error: the gap between confidence and accuracy, over ten bins of confidence."""
    seconds: float
    """To train and score all folds."""

    @classmethod
    def of(cls, member: str, probs: Probs, gold: Sequence[Emotion], *, seconds: float) -> Scores:
        """Score probabilities against gold emotions."""
        truth = one_hot(gold)
        answer = np.eye(len(EMOTIONS))[probs.argmax(1)]
        hits, given, wanted = (answer * truth).sum(0), answer.sum(0), truth.sum(0)
        f1 = np.divide(2 * hits, given + wanted, out=np.ones(len(EMOTIONS)), where=given + wanted > 0)
        return cls(
            member=member,
            accuracy=float(hits.sum() / len(gold)),
            macro_f1=float(f1.mean()),
            f1={emotion.value: float(value) for emotion, value in zip(EMOTIONS, f1, strict=True)},
            log_loss=log_loss(probs, truth),
            ece=_calibration_error(probs.max(1), (answer * truth).sum(1)),
            seconds=seconds,
        )


def one_hot(gold: Sequence[Emotion]) -> NDArray[np.float64]:
    """Return (n_examples, n_emotions): 1 at the gold emotion."""
    return np.array([[float(emotion == column) for column in EMOTIONS] for emotion in gold])


def log_loss(probs: Probs, truth: NDArray[np.float64]) -> float:
    """Return the mean negative log probability of the gold emotions."""
    return float(-np.log((probs * truth).sum(1).clip(min=SMALLEST)).mean())


def fit_temperature(probs: Probs, gold: Sequence[Emotion]) -> float:
    """Return the temperature, between 1/20 and 20, under which the probabilities have the least log loss."""
    truth = one_hot(gold)
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


def softmax(logits: NDArray[np.float64]) -> Probs:
    """Return the softmax over the last axis."""
    scaled = np.exp(logits - logits.max(-1, keepdims=True))
    result: Probs = scaled / scaled.sum(-1, keepdims=True)
    return result


def class_weights(gold: Sequence[Emotion], *, power: float) -> dict[Emotion, float]:
    """Return (1 / frequency) ** power for each emotion, scaled to a mean of 1 over the examples; 1 if it is absent."""
    counts = one_hot(gold).sum(0)
    weights = np.where(counts > 0, counts.clip(min=1.0) ** -power, 0.0)
    scaled = weights * counts.sum() / (weights * counts).sum()
    return {emotion: float(weight) or 1.0 for emotion, weight in zip(EMOTIONS, scaled, strict=True)}


def _calibration_error(confidence: NDArray[np.float64], correct: NDArray[np.float64]) -> float:
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - correct, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(confidence))
