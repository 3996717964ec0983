"""Figures of scored pairs, against labels of 0 and 1 or against scores."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import log_loss, roc_auc_score

from pipeline.standalone.matching.scale import LabelScale

SMALLEST = 1e-6
"""A score of 0 or 1 counts as this far from it in the log loss."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which on a pair counts as one that belongs together, each the best of the development pairs."""

    f1: float
    accuracy: float

    @classmethod
    def best(cls, scores: np.ndarray, labels: np.ndarray) -> Thresholds:
        """Find both among the middles between neighbouring scores; of equally good ones the lowest.

        Args:
            scores: float64 (n,), 0 to 1.
            labels: float64 (n,), 0 or 1.
        """
        distinct, place = np.unique(scores, return_inverse=True)
        cuts = np.concatenate([[0.0], (distinct[1:] + distinct[:-1]) / 2, [np.nextafter(distinct[-1], np.inf)]])
        # Of a cut, the pairs at or above it: those of the distinct scores from its own place on.
        right = np.append(np.cumsum(np.bincount(place, weights=labels)[::-1])[::-1], 0.0)
        taken = np.append(np.cumsum(np.bincount(place)[::-1])[::-1], 0)
        f1 = 2 * right / np.maximum(1, taken + labels.sum())
        n_right = right + (len(labels) - labels.sum()) - (taken - right)
        return cls(float(cuts[f1.argmax()]), float(cuts[n_right.argmax()]))


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Of labels 0 and 1. None where labels or scores are all the same."""

    n_pairs: int
    n_together: int
    auc: float | None
    spearman: float | None
    log_loss: float
    accuracy: float
    """At the threshold of the best accuracy in development."""
    precision: float
    recall: float
    f1: float
    """These three at the threshold of the best F1 in development."""
    thresholds: Thresholds

    @classmethod
    def of(cls, scores: np.ndarray, labels: np.ndarray, thresholds: Thresholds) -> LabelFigures:
        """Compare scores with labels, float64 (n,) each."""
        found, gold = scores >= thresholds.f1, labels == 1
        hits = int((found & gold).sum())
        precision, recall = hits / max(1, int(found.sum())), hits / max(1, int(gold.sum()))
        return cls(
            n_pairs=len(labels),
            n_together=int(gold.sum()),
            auc=float(roc_auc_score(labels, scores)) if 0 < gold.sum() < len(gold) else None,
            spearman=spearman(scores, labels),
            log_loss=float(log_loss(labels, scores.clip(SMALLEST, 1 - SMALLEST), labels=[0, 1])),
            accuracy=float(((scores >= thresholds.accuracy) == gold).mean()),
            precision=precision,
            recall=recall,
            f1=2 * hits / max(1, int(found.sum()) + int(gold.sum())),
            thresholds=thresholds,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Lay the figures out as plain text."""
        return [
            f"{self.n_pairs} pairs, {self.n_together} of them together",
            "",
            f"accuracy  {self.accuracy:>8.4f}   at score {self.thresholds.accuracy:.4f}, the best of dev",
            f"F1        {self.f1:>8.4f}   at score {self.thresholds.f1:.4f}, the best of dev"
            f" (precision {self.precision:.4f}, recall {self.recall:.4f})",
            f"AUC       {_text(self.auc):>8}",
            f"Spearman  {_text(self.spearman):>8}",
            f"log loss  {self.log_loss:>8.4f}",
        ]


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """Of labels that are scores. None where labels or scores are all the same."""

    n_pairs: int
    spearman: float | None
    pearson: float | None
    mse: float
    """In units of the labels, squared."""
    range: str

    @classmethod
    def of(cls, scores: np.ndarray, labels: np.ndarray, scale: LabelScale) -> ScoreFigures:
        """Compare scores with labels, float64 (n,) each, 0 to 1."""
        return cls(
            n_pairs=len(labels),
            spearman=spearman(scores, labels),
            pearson=_correlation(stats.pearsonr, scores, labels),
            mse=float(((scores - labels) ** 2).mean()) * (scale.high - scale.low) ** 2,
            range=str(scale),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Lay the figures out as plain text."""
        return [
            f"{self.n_pairs} pairs, scores from {self.range}",
            "",
            f"Spearman  {_text(self.spearman):>8}",
            f"Pearson   {_text(self.pearson):>8}",
            f"MSE       {self.mse:>8.4f}",
        ]


Figures = LabelFigures | ScoreFigures


def spearman(scores: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the rank correlation of two rows of numbers, (n,) each; None where one of them is constant."""
    return _correlation(stats.spearmanr, scores, labels)


def _correlation(of: Any, scores: np.ndarray, labels: np.ndarray) -> float | None:
    if len(labels) < 2 or np.ptp(scores) == 0 or np.ptp(labels) == 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        return float(of(scores, labels).statistic)


def _text(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.4f}"
