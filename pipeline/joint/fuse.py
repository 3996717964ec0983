"""Averages of what the two-stage models and the joint tagger say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.emotions.sentiment.scores import Probs
from pipeline.entities.rerank import NumberRule, OutOfFoldRankings
from pipeline.errors import ArtifactError

RULE = "thresholds.json"


def fuse_emotions(first: Probs, second: Probs) -> Probs:
    """Return the mean of two sets of emotion probabilities: (n_examples, n_emotions)."""
    return (first + second) / 2


def fuse_names(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    """Return the mean probability of every name of an article; a name that one of the two lacks counts as 0 there."""
    return {key: (first.get(key, 0.0) + second.get(key, 0.0)) / 2 for key in {**first, **second}}


def fuse_rankings(first: OutOfFoldRankings, second: OutOfFoldRankings) -> OutOfFoldRankings:
    """Return the means of two rankings of the same articles.

    Raises:
        ValueError: the articles or their folds differ.
    """
    if list(first.news_ids) != list(second.news_ids) or list(first.folds) != list(second.folds):
        raise ValueError("rankings of different articles or folds cannot be averaged")
    keys, firsts, probs, labels = [], [], [], []
    for row in range(len(first.news_ids)):
        fused = fuse_names(_probs(first, row), _probs(second, row))
        known: dict[str, tuple[int, float]] = {}
        for part in (second, first):
            facts = zip(part.firsts[row].tolist(), part.labels[row].tolist(), strict=True)
            known |= dict(zip(part.keys[row], facts, strict=True))
        keys.append(list(fused))
        probs.append(np.array(list(fused.values())))
        firsts.append(np.array([known[key][0] for key in fused], dtype=np.int64))
        labels.append(np.array([known[key][1] for key in fused], dtype=np.float32))
    return OutOfFoldRankings(first.news_ids, first.folds, keys, firsts, probs, labels, first.n_gold)


def _probs(ranked: OutOfFoldRankings, row: int) -> dict[str, float]:
    return dict(zip(ranked.keys[row], ranked.probs[row].tolist(), strict=True))


def write_rule(folder: Path, rule: NumberRule) -> None:
    """Write the number rule that was tuned on averaged probabilities."""
    atomic_write_json(folder / RULE, {"rule": asdict(rule)})


def read_rule(folder: Path) -> NumberRule:
    """Read what ``write_rule`` wrote.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    content = read_json(folder / RULE)
    try:
        return NumberRule.from_dict(content["rule"])
    except (LookupError, TypeError, ValueError) as error:
        raise ArtifactError(f"{folder / RULE}: want a number rule ({error})") from error
