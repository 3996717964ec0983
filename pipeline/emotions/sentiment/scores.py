"""How good emotion probabilities are; columns of probabilities are in the order of ``EMOTIONS``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.metric import LabelScores
from pipeline.nn.probabilities import (
    Probs,
    balanced_weights,
    best_temperature,
    log_loss,
    softmax,
    with_temperature,
)
from pipeline.schema import EMOTIONS, Emotion

__all__ = [
    "Probs",
    "Scores",
    "class_weights",
    "fit_temperature",
    "likeliest",
    "log_loss",
    "mixture_weights",
    "one_hot",
    "softmax",
    "with_temperature",
]

N_BINS = 10
MIXTURE_ROUNDS = 200
"""Of expectation-maximisation; with two members a few dozen settle the weights to three digits."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of one row of the table: a member, or an average of members."""

    member: str
    accuracy: float
    macro_f1: float
    """Over the emotions that occur; see ``LabelScores``."""
    f1: dict[str, float | None]
    """By emotion; None where neither gold nor the answers have it."""
    log_loss: float
    """Mean over the examples, in nats."""
    ece: float
    """Expected calibration error: the gap between confidence and accuracy, over ten bins of confidence."""
    seconds: float
    """To train and score all folds."""

    @classmethod
    def of(cls, member: str, probs: Probs, gold: Sequence[Emotion], *, seconds: float) -> Scores:
        """Score probabilities against gold emotions."""
        answers = likeliest(probs)
        scores = LabelScores.of(answers, gold, EMOTIONS)
        is_right = np.array([answer == emotion for answer, emotion in zip(answers, gold, strict=True)], np.float64)
        return cls(
            member=member,
            accuracy=scores.accuracy,
            macro_f1=scores.macro_f1,
            f1={emotion.value: scores.f1[emotion] for emotion in EMOTIONS},
            log_loss=log_loss(probs, one_hot(gold)),
            ece=_calibration_error(probs.max(1), is_right),
            seconds=seconds,
        )


def likeliest(probs: Probs) -> list[Emotion]:
    """Return the emotion of each row with the largest probability: (n_examples, n_emotions) -> n_examples.

    Ties go to the emotion that is more frequent in the competition's training file: POS, then NORM, then NEG.
    """
    return [EMOTIONS[column] for column in probs.argmax(1).tolist()]


def one_hot(gold: Sequence[str]) -> NDArray[np.float64]:
    """Return (n_examples, n_emotions): 1 at the gold emotion."""
    return np.array([[float(emotion == column) for column in EMOTIONS] for emotion in gold])


def fit_temperature(probs: Probs, gold: Sequence[Emotion]) -> float:
    """Return the temperature under which the probabilities have the least log loss."""
    return best_temperature(probs, one_hot(gold))


def class_weights(gold: Sequence[Emotion], *, power: float) -> dict[Emotion, float]:
    """Return (1 / frequency) ** power for each emotion, scaled to a mean of 1 over the examples; 1 if it is absent."""
    weights = balanced_weights(one_hot(gold), power=power)
    return {emotion: float(weight) for emotion, weight in zip(EMOTIONS, weights, strict=True)}


def _calibration_error(confidence: NDArray[np.float64], correct: NDArray[np.float64]) -> float:
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - correct, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def mixture_weights(members: Sequence[Probs], gold: Sequence[Emotion]) -> NDArray[np.float64]:
    """Return the weights of the average of some members that makes the gold emotions likeliest: (n_members,).

    Expectation-maximisation for the weights of a mixture (Dempster et al., 1977). The log likelihood is concave in
    them, so that there is one maximum; two numbers that sum to one can hardly be fitted too closely.

    Args:
        members: out-of-fold probabilities of each.
        gold: emotion of each example.
    """
    of_gold = np.stack([(probs * one_hot(gold)).sum(1) for probs in members], axis=1)
    weights = np.full(len(members), 1 / len(members))
    for _ in range(MIXTURE_ROUNDS):
        shares = weights * np.maximum(of_gold, np.finfo(np.float64).tiny)
        weights = (shares / shares.sum(1, keepdims=True)).mean(0)
    return weights
