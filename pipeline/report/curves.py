"""Recall of the candidates at each depth, and the entity F1 over the number rule's floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.entities.rerank import NumberRule, rule_f1
from pipeline.report.figures import PLACES, ratio
from pipeline.report.outcome import Outcome

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 150)
ALL = "all"
"""Every candidate, before pruning."""
FLOORS = np.round(np.arange(0.0, 0.82, 0.02), 2)


class Top(NamedTuple):
    """The best distinct candidates of an article, as many as an answer may hold."""

    probs: tuple[float, ...]
    is_gold: tuple[bool, ...]


def recall_at_k(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return the share of all gold entities among the k best candidates of their article, and among all offered."""
    n_gold = sum(len(outcome.gold) for outcome in outcomes)
    places = np.array([place for outcome in outcomes for place in outcome.standing.ranks.values()], dtype=np.int64)
    rows: list[dict[str, Any]] = [
        {"k": depth, "recall": ratio(int((places < depth).sum()), n_gold)} for depth in DEPTHS
    ]
    return [*rows, {"k": ALL, "recall": ratio(sum(len(outcome.offered) for outcome in outcomes), n_gold)}]


def threshold_curve(tops: Sequence[Top], n_gold: Sequence[int], rule: NumberRule) -> dict[str, Any]:
    """Return the mean entity F1 over the floor of the number rule, its other threshold as it is, and the chosen point.

    Nothing is chosen by this curve: it is drawn on the gold articles, the rule was tuned out-of-fold in training.
    """
    width = rule.max_entities
    probs, hits = np.full((len(tops), width), -1.0), np.zeros((len(tops), width))
    for index, top in enumerate(tops):
        probs[index, : len(top.probs)] = top.probs
        hits[index, : len(top.is_gold)] = top.is_gold
    gold = np.asarray(n_gold, dtype=np.float64)
    floors = sorted({*FLOORS.tolist(), rule.floor})
    points = [
        {"floor": floor, "entity_f1": round(rule_f1(probs, hits, gold, floor, rule.share_of_top), PLACES)}
        for floor in floors
    ]
    return {"points": points, "chosen": {"floor": rule.floor, "share_of_top": rule.share_of_top}}
