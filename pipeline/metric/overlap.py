"""Spans that are partly right: the four figures of SemEval-2013 task 9.1, as nervaluate names them.

Each found span is paired with at most one gold span that it overlaps. A pair is correct, incorrect or partial:

========  ====================  =====================  =======================
figure    same ends and type    same ends, other type  other ends that overlap
========  ====================  =====================  =======================
strict    correct               incorrect              incorrect
exact     correct               correct                incorrect
partial   correct               correct                partial
type      correct               incorrect              correct if the type is
========  ====================  =====================  =======================

What has no partner is missed (gold) or spurious (found). With POS = correct + incorrect + partial + missed and
ACT = correct + incorrect + partial + spurious, precision = (correct + partial / 2) / ACT and
recall = (correct + partial / 2) / POS.

Segura-Bedmar et al., SemEval 2013. Deviation: nervaluate lets several found spans have one gold span as partner; here
it is the one with the same ends, else that which shares most with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FIGURES = ("strict", "exact", "partial", "type")
Span = tuple[int, int, str]
"""Start, stop and type."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of gold and found spans under one figure."""

    correct: int = 0
    incorrect: int = 0
    partial: int = 0
    missed: int = 0
    spurious: int = 0

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(
            self.correct + other.correct,
            self.incorrect + other.incorrect,
            self.partial + other.partial,
            self.missed + other.missed,
            self.spurious + other.spurious,
        )

    @property
    def precision(self) -> float | None:
        """Points per found span; None where nothing is marked nor found."""
        return self._share(self.correct + self.incorrect + self.partial + self.spurious)

    @property
    def recall(self) -> float | None:
        """Points per gold span; None where nothing is marked nor found."""
        return self._share(self.correct + self.incorrect + self.partial + self.missed)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        total = 2 * (self.correct + self.incorrect + self.partial) + self.missed + self.spurious
        return 2 * self._points / total if total else None

    @property
    def _points(self) -> float:
        return self.correct + self.partial / 2

    def _share(self, count: int) -> float | None:
        if count:
            return self._points / count
        return None if self == Outcomes() else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return counts and ratios as plain JSON values, rounded to 6 places."""
        counts = {name: getattr(self, name) for name in ("correct", "incorrect", "partial", "missed", "spurious")}
        ratios = {name: getattr(self, name) for name in ("precision", "recall", "f1")}
        return counts | {name: None if value is None else round(value, 6) for name, value in ratios.items()}


def score_overlap(gold: Iterable[Iterable[Span]], pred: Iterable[Iterable[Span]]) -> Mapping[str, Outcomes]:
    """Compare rows; return the outcomes of each of ``FIGURES`` over all of them.

    Args:
        gold: the spans of each row.
        pred: the same rows as a tagger sees them.

    Raises:
        ValueError: the numbers of rows differ.
    """
    totals = dict.fromkeys(FIGURES, Outcomes())
    for marked, found in zip(gold, pred, strict=True):
        wanted, given = sorted(set(marked)), sorted(set(found))
        pairs = pair_spans(wanted, given)
        alone = Outcomes(missed=len(wanted) - len(pairs), spurious=len(given) - len(pairs))
        for figure in FIGURES:
            totals[figure] = sum((_outcome(figure, *pair) for pair in pairs), totals[figure] + alone)
    return totals


def pair_spans(gold: Sequence[Span], pred: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Pair spans that overlap, one with one: same ends and type first, then same ends, then by what they share."""
    possible = []
    for wanted in gold:
        for given in pred:
            shared = min(wanted[1], given[1]) - max(wanted[0], given[0])
            if shared > 0:
                same_ends, same_type = wanted[:2] == given[:2], wanted[2] == given[2]
                possible.append(
                    ((not same_ends, not same_type if same_ends else False, -shared, not same_type), wanted, given)
                )
    pairs = []
    free_gold, free_pred = set(gold), set(pred)
    for _, wanted, given in sorted(possible):
        if wanted in free_gold and given in free_pred:
            pairs.append((wanted, given))
            free_gold.remove(wanted)
            free_pred.remove(given)
    return pairs


def _outcome(figure: str, gold: Span, pred: Span) -> Outcomes:
    same_ends, same_type = gold[:2] == pred[:2], gold[2] == pred[2]
    if figure == "partial" and not same_ends:
        return Outcomes(partial=1)
    right = {
        "strict": same_ends and same_type,
        "exact": same_ends,
        "partial": same_ends,
        "type": same_type,
    }[figure]
    return Outcomes(correct=1) if right else Outcomes(incorrect=1)
