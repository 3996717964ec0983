"""Accuracy and F1 of answers that are one label each, whatever the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Figures of one model on one file."""

    accuracy: float
    macro_f1: float
    """Mean over the labels that gold or the answers have."""
    f1: dict[str, float | None]
    """By label; None where neither gold nor the answers have it."""

    @classmethod
    def of(cls, answers: Sequence[str], gold: Sequence[str], labels: Sequence[str]) -> LabelScores:
        """Score answers against gold.

        Args:
            answers: a label for each example.
            gold: likewise, at least one.
            labels: every label that may occur.
        """
        hits = Counter(label for answer, label in zip(answers, gold, strict=True) if answer == label)
        total = Counter(answers) + Counter(gold)
        f1 = {label: 2 * hits[label] / total[label] if total[label] else None for label in labels}
        present = [value for value in f1.values() if value is not None]
        return cls(hits.total() / len(gold), sum(present) / len(present), f1)
