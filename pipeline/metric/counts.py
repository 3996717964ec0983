"""Counts behind precision, recall and F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Counts:
    """What was wanted, given, and both: added up first, divided last.

    Where nothing is wanted and nothing is given there is nothing to judge: precision, recall and F1 are None. Where
    only one side is empty they are 0.
    """

    hits: int = 0
    n_pred: int = 0
    n_gold: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(self.hits + other.hits, self.n_pred + other.n_pred, self.n_gold + other.n_gold)

    @property
    def precision(self) -> float | None:
        """Share of the given that is right."""
        return self.hits / self.n_pred if self.n_pred else self._one_side_empty

    @property
    def recall(self) -> float | None:
        """Share of the wanted that is given."""
        return self.hits / self.n_gold if self.n_gold else self._one_side_empty

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        total = self.n_pred + self.n_gold
        return 2 * self.hits / total if total else None

    @property
    def _one_side_empty(self) -> float | None:
        return 0.0 if self.n_pred or self.n_gold else None

    def to_dict(self) -> dict[str, float | None]:
        """Return counts and ratios, rounded to 6 places."""
        ratios = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        rounded = {name: None if value is None else round(value, 6) for name, value in ratios.items()}
        return {"hits": self.hits, "n_pred": self.n_pred, "n_gold": self.n_gold, **rounded}
