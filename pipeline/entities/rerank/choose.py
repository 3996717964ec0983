"""How many of the ranked candidates become the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.entities.candidates import bare_key
from pipeline.metric import article_f1
from pipeline.schema import MAX_ENTITIES


@dataclass(frozen=True, slots=True)
class NumberRule:
    """The best candidate is always chosen; a further one if its probability is high enough.

    High enough is ``p >= max(floor, share_of_top * p of the best)``; at most ``max_entities`` in all.
    """

    floor: float
    share_of_top: float
    max_entities: int = 3

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NumberRule:
        """Rebuild a rule from the values it was saved as.

        Raises:
            ValueError: one is missing, unknown, or none that a rule has.
        """
        rule = cls(**values) if set(values) == {"floor", "share_of_top", "max_entities"} else None
        shares = () if rule is None else (rule.floor, rule.share_of_top)
        if (
            rule is None
            or not all(isinstance(share, int | float) and 0 <= share <= 1 for share in shares)
            or not (isinstance(rule.max_entities, int) and 1 <= rule.max_entities <= MAX_ENTITIES)
        ):
            raise ValueError(
                f"rule {dict(values)}: want floor and share_of_top of 0 to 1, max_entities to {MAX_ENTITIES}"
            )
        return rule


def ranking(probs: np.ndarray, keys: Sequence[str], firsts: np.ndarray) -> list[int]:
    """Order candidates by probability; ties go to the earlier first mention, then to the name."""
    ranks = list(zip((-probs).tolist(), firsts.tolist(), keys, strict=True))
    return sorted(range(len(keys)), key=ranks.__getitem__)


def distinct(order: Sequence[int], keys: Sequence[str]) -> Iterator[int]:
    """Yield rows in order, leaving out spellings of a name that came before (with and without 《》)."""
    seen: set[str] = set()
    for row in order:
        bare = bare_key(keys[row])
        if bare not in seen:
            seen.add(bare)
            yield row


def choose(probs: np.ndarray, keys: Sequence[str], firsts: np.ndarray, rule: NumberRule) -> list[int]:
    """Return the rows of the chosen candidates, the best first; none only where there is no candidate."""
    chosen: list[int] = []
    for row in distinct(ranking(probs, keys, firsts), keys):
        if len(chosen) == rule.max_entities:
            break
        if chosen and probs[row] < max(rule.floor, rule.share_of_top * probs[chosen[0]]):
            break
        chosen.append(row)
    return chosen


FLOORS = np.round(np.arange(0.04, 0.52, 0.02), 2)
SHARES = np.round(np.arange(0.0, 0.95, 0.05), 2)


def tune_rule(
    probs: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    n_gold: Sequence[int],
    keys: Sequence[Sequence[str]],
    firsts: Sequence[np.ndarray],
    *,
    max_entities: int,
) -> tuple[NumberRule, float]:
    """Pick the rule with the best mean entity F1 over articles; give it out-of-fold probabilities.

    Every threshold pair is smoothed with its neighbours, so that a lucky peak is not picked.

    Returns:
        The rule, and its own (unsmoothed) mean F1.
    """
    n_top = max_entities
    top_probs = np.full((len(probs), n_top), -1.0)
    top_hits = np.zeros((len(probs), n_top))
    for index, (prob, label, key, first) in enumerate(zip(probs, labels, keys, firsts, strict=True)):
        rows = [row for row, _ in zip(distinct(ranking(prob, key, first), key), range(n_top), strict=False)]
        top_probs[index, : len(rows)] = prob[rows]
        top_hits[index, : len(rows)] = label[rows]
    gold = np.asarray(n_gold, dtype=np.float64)
    figures = np.array([[rule_f1(top_probs, top_hits, gold, floor, share) for share in SHARES] for floor in FLOORS])
    padded = np.pad(figures, 1, mode="edge")
    smooth = sum(padded[i : i + figures.shape[0], j : j + figures.shape[1]] for i in range(3) for j in range(3))
    best = np.unravel_index(int(np.argmax(smooth)), figures.shape)
    rule = NumberRule(float(FLOORS[best[0]]), float(SHARES[best[1]]), max_entities)
    return rule, float(figures[best])


def rule_f1(probs: np.ndarray, hits: np.ndarray, gold: np.ndarray, floor: float, share: float) -> float:
    """Return the mean entity F1 of a number rule.

    Args:
        probs: float64 (n_articles, max_entities): of the best candidates, falling; -1 where there is none.
        hits: the same shape, 1 for gold entities.
        gold: gold entities of each article: float64 (n_articles,).
        floor: of the rule.
        share: of the rule.
    """
    taken = probs >= np.maximum(floor, share * probs[:, :1])
    taken[:, 0] = True
    taken &= probs >= 0
    taken = np.logical_and.accumulate(taken, axis=1)
    return float(article_f1((hits * taken).sum(axis=1), taken.sum(axis=1), gold).mean())
