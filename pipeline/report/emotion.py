"""How good stage two is: on gold targets, and on those that stage one found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.emotions.sentiment.scores import likeliest
from pipeline.metric import LabelScores
from pipeline.report.figures import PLACES, ratio, rounded
from pipeline.schema import EMOTIONS, Emotion

N_BINS = 10
"""Bins of confidence, of equal width."""


def classification(gold: Sequence[Emotion], pred: Sequence[Emotion]) -> dict[str, Any]:
    """Return confusion matrix, precision, recall and F1 of each emotion, accuracy, macro-F1 and the majority's row.

    Figures are None where there is nothing to judge: an emotion that is neither in gold nor in the prediction, which
    does not count in macro-F1 (``LabelScores``), or no gold at all. The majority is the most frequent gold emotion (the
    first of equals), ``beats_majority`` whether the accuracy is above its share.
    """
    scores = LabelScores.of(pred, gold, EMOTIONS)
    n_right, n_gold = int(scores.confusion.trace()), len(gold)
    counts = Counter(gold)
    majority = max(EMOTIONS, key=lambda emotion: counts[emotion])
    return {
        "classes": [emotion.value for emotion in EMOTIONS],
        "confusion": scores.confusion.tolist(),
        "per_class": {
            emotion.value: {
                "precision": rounded(counted.precision),
                "recall": rounded(counted.recall),
                "f1": rounded(counted.f1),
                "n": counted.n_gold,
            }
            for emotion, counted in zip(EMOTIONS, scores.per_label.values(), strict=True)
        },
        "accuracy": ratio(n_right, n_gold),
        "macro_f1": rounded(scores.macro_f1 if n_gold else None),
        "majority": {"emotion": majority.value, "accuracy": ratio(counts[majority], n_gold)},
        "beats_majority": n_right > counts[majority],
    }


def reliability(confidence: NDArray[np.float64], is_right: NDArray[np.bool_]) -> tuple[list[dict[str, Any]], float]:
    """Compare how sure the answers are with how often they are right.

    Args:
        confidence: the largest probability of each answer: float64 (n_answers,).
        is_right: bool (n_answers,).

    Returns:
        A row for each bin that holds an answer, and the expected calibration error: the mean gap over the answers.
    """
    bins = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    rows = []
    error = 0.0
    for number in range(N_BINS):
        inside = bins == number
        if not inside.any():
            continue
        sure, right = float(confidence[inside].mean()), float(is_right[inside].mean())
        error += abs(sure - right) * int(inside.sum()) / len(confidence)
        rows.append(
            {
                "low": round(number / N_BINS, 2),
                "high": round((number + 1) / N_BINS, 2),
                "n": int(inside.sum()),
                "confidence": round(sure, PLACES),
                "accuracy": round(right, PLACES),
            }
        )
    return rows, error


def emotion_figures(gold: Sequence[Emotion], probs: NDArray[np.float64], is_hit: NDArray[np.bool_]) -> dict[str, Any]:
    """Judge the emotions of all gold entities, and of those among them that the answer holds.

    Args:
        gold: emotion of each gold entity.
        probs: predicted for it as a target: float64 (n_entities, n_emotions).
        is_hit: whether stage one found it: bool (n_entities,).

    Returns:
        ``classification`` and ``reliability`` on gold targets; the accuracy on both, and its gap.
    """
    pred = likeliest(probs)
    is_right = np.array([want == have for want, have in zip(gold, pred, strict=True)], dtype=bool)
    rows, error = reliability(probs.max(axis=1), is_right)
    on_gold, on_hits = ratio(int(is_right.sum()), len(gold)), ratio(int(is_right[is_hit].sum()), int(is_hit.sum()))
    gap = None if on_gold is None or on_hits is None else round(on_gold - on_hits, PLACES)
    return {
        **classification(gold, pred),
        "reliability": rows,
        "expected_calibration_error": round(error, PLACES),
        "gold_targets": {"accuracy": on_gold, "n": len(gold)},
        "predicted_targets": {"accuracy": on_hits, "n": int(is_hit.sum())},
        "gap": gap,
    }
