"""Figures of answers that are one label each, whatever the labels: emotions, or the classes of other people's rows.

Macro-F1 is the mean F1 of the labels that occur in gold or in the answers, as in scikit-learn's
``f1_score(average="macro")``. A label that is in neither has no F1 and does not count: it would be an easy win for
answers to a file that happens to lack it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.metric.counts import Counts


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Answers against gold. Accuracy and macro-F1 want one example at least."""

    confusion: NDArray[np.int64]
    """(n_labels, n_labels): rows gold, columns answers."""
    per_label: Mapping[str, Counts]

    @classmethod
    def of(cls, answers: Sequence[str], gold: Sequence[str], labels: Sequence[str]) -> LabelScores:
        """Score answers.

        Args:
            answers: a label for each example.
            gold: likewise.
            labels: every label that may occur.

        Raises:
            ValueError: the numbers of answers and gold labels differ.
            KeyError: another label occurs.
        """
        place = {label: index for index, label in enumerate(labels)}
        confusion = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for answer, label in zip(answers, gold, strict=True):
            confusion[place[label], place[answer]] += 1
        counts = zip(confusion.diagonal().tolist(), confusion.sum(0).tolist(), confusion.sum(1).tolist(), strict=True)
        return cls(confusion, {label: Counts(*of_label) for label, of_label in zip(labels, counts, strict=True)})

    @property
    def accuracy(self) -> float:
        """Share of the examples with the right answer."""
        return int(self.confusion.trace()) / int(self.confusion.sum())

    @property
    def f1(self) -> dict[str, float | None]:
        """By label; None where neither gold nor the answers have it."""
        return {label: counts.f1 for label, counts in self.per_label.items()}

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that occur in gold or in the answers."""
        present = [value for value in self.f1.values() if value is not None]
        return sum(present) / len(present)
