"""How often a name was offered and how often it was gold, in other articles (fitted: used out-of-fold)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.errors import ArtifactError


@dataclass(frozen=True)
class KeyCounts:
    """Counts of keys over a set of articles.

    ``table`` maps a key to (articles that offered it as a candidate, articles in which it was gold).
    """

    n_articles: int
    n_offered: int
    n_gold: int
    table: Mapping[str, tuple[int, int]]

    @property
    def prior(self) -> float:
        """Overall share of candidates that were gold."""
        return self.n_gold / max(self.n_offered, 1)

    def lookup(self, keys: Sequence[str]) -> np.ndarray:
        """Return (offered, gold) of each key, zeros where it was never seen: float64 (n_keys, 2)."""
        return np.array([self.table.get(key, (0, 0)) for key in keys], dtype=np.float64).reshape(-1, 2)

    def shrunk(self, counts: np.ndarray, smoothing: float) -> np.ndarray:
        """Return the share of articles in which an offered key was gold, drawn toward the prior: float64 (n_keys,).

        A key that was never offered gets the prior.

        Args:
            counts: what ``lookup`` gave.
            smoothing: a pseudo-count; 0 gives the plain share.
        """
        weight = counts[:, 0] + smoothing
        rates = (counts[:, 1] + smoothing * self.prior) / np.where(weight > 0, weight, 1)
        return np.where(weight > 0, rates, self.prior)

    def to_dict(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        table = {key: list(pair) for key, pair in sorted(self.table.items())}
        return {"n_articles": self.n_articles, "n_offered": self.n_offered, "n_gold": self.n_gold, "table": table}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> KeyCounts:
        """Rebuild the counts from ``to_dict``.

        Raises:
            ArtifactError: a field is missing or of another type.
        """
        table = values.get("table")
        numbers = [values.get(name) for name in ("n_articles", "n_offered", "n_gold")]
        if not isinstance(table, dict) or not all(isinstance(number, int) for number in numbers):
            raise ArtifactError("key counts: want n_articles, n_offered, n_gold and table")
        n_articles, n_offered, n_gold = (int(str(number)) for number in numbers)
        return cls(n_articles, n_offered, n_gold, {key: _pair(pair) for key, pair in table.items()})


def _pair(values: list[object]) -> tuple[int, int]:
    offered, gold = values
    if not isinstance(offered, int) or not isinstance(gold, int):
        raise ArtifactError("key counts: want two whole numbers for each key")
    return offered, gold


class FoldedKeyCounts:
    """Counts of keys kept by fold, so that each article is described by the other folds alone."""

    def __init__(self) -> None:
        self._folds: dict[int, dict[str, list[int]]] = {}
        self._totals: dict[int, list[int]] = {}

    def add(self, fold: int, keys: Iterable[str], gold: Iterable[str]) -> None:
        """Count one article: the keys it offered and the keys that were gold in it."""
        table = self._folds.setdefault(fold, {})
        totals = self._totals.setdefault(fold, [0, 0, 0])
        offered, hits = set(keys), set(gold)
        totals[0] += 1
        totals[1] += len(offered)
        totals[2] += len(offered & hits)
        for key in offered | hits:
            pair = table.setdefault(key, [0, 0])
            pair[0] += 1
            pair[1] += key in hits

    def without(self, fold: int | None) -> KeyCounts:
        """Return the counts over every fold but one; over all with None.

        Keys offered once and never gold are left out of the table: they are most of it and say little.
        """
        table: dict[str, tuple[int, int]] = {}
        totals = [0, 0, 0]
        for other in sorted(self._folds):
            if other == fold:
                continue
            totals = [left + right for left, right in zip(totals, self._totals[other], strict=True)]
            for key, (offered, gold) in self._folds[other].items():
                seen = table.get(key, (0, 0))
                table[key] = (seen[0] + offered, seen[1] + gold)
        kept = {key: pair for key, pair in table.items() if pair[0] > 1 or pair[1] > 0}
        return KeyCounts(totals[0], totals[1], totals[2], kept)
