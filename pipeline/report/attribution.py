"""The first stage that lost each missed gold entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from pipeline.report.not_offered import BOUNDARY, SEGMENTATION, UNKNOWN_WORD
from pipeline.report.outcome import Outcome
from pipeline.schema import MAX_ENTITIES, Emotion, Entity

NOT_IN_TEXT, PRUNED, RANKED_OUT, CUT_BY_NUMBER = "not_in_text", "pruned", "ranked_out", "cut_by_number"
REASONS = (NOT_IN_TEXT, SEGMENTATION, BOUNDARY, UNKNOWN_WORD, PRUNED, RANKED_OUT, CUT_BY_NUMBER)
"""In the order of the pipeline."""
RIGHT_EMOTION, WRONG_EMOTION = "right_emotion", "wrong_emotion"

Stages = Sequence[tuple[str, Container[str]]]
"""The reason for which a stage loses names, and the names that it let through; in the order of the pipeline."""


def first_loss(name: str, stages: Stages) -> str | None:
    """Return the reason of the first stage that did not let a name through, None if all did."""
    return next((reason for reason, passed in stages if name not in passed), None)


def reasons(outcome: Outcome, *, max_entities: int = MAX_ENTITIES) -> dict[str, str | None]:
    """Return why each gold name was missed; None for a hit.

    * not in text: neither field holds the name in this spelling; nothing can be right about it;
    * not a candidate: no generator offered it; the sub-reason is that of ``not_offered_reason``;
    * pruned: offered, but not among the candidates that got the full features;
    * ranked out: not among the ``max_entities`` best distinct names, or another spelling of it stood before it;
    * cut by number: among them, but the number rule stopped before it.
    """
    within_reach = {name for name, place in outcome.standing.ranks.items() if place < max_entities}
    stages: list[tuple[str, Container[str]]] = [
        (NOT_IN_TEXT, outcome.in_text | outcome.kept),
        ("not_candidate", outcome.offered),
        (PRUNED, outcome.kept),
        (RANKED_OUT, within_reach | set(outcome.standing.hits)),
        (CUT_BY_NUMBER, outcome.standing.hits),
    ]
    found = {name: first_loss(name, stages) for name in outcome.names}
    return {name: outcome.not_offered[name] if reason == "not_candidate" else reason for name, reason in found.items()}


def count_losses(
    gold: Iterable[Entity], pred: Iterable[Entity], lost: Mapping[str, str | None]
) -> tuple[Counter[str], Counter[str], int]:
    """Count one article's gold entities by what became of them.

    Args:
        gold: its gold entities, no name twice.
        pred: its answer.
        lost: for each gold name the reason, None if the answer holds it.

    Returns:
        Missed entities by reason; hits by ``right_emotion`` and ``wrong_emotion``; the number of spurious entities.
    """
    emotions: dict[str, Emotion] = {entity.name: entity.emotion for entity in pred}
    missed: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    names = set()
    for entity in gold:
        names.add(entity.name)
        if (reason := lost[entity.name]) is not None:
            missed[reason] += 1
        else:
            hits[RIGHT_EMOTION if emotions[entity.name] == entity.emotion else WRONG_EMOTION] += 1
    return missed, hits, len(emotions.keys() - names)


class Attribution:
    """Sums ``count_losses`` over articles."""

    def __init__(self) -> None:
        self.missed: Counter[str] = Counter()
        self.hits: Counter[str] = Counter()
        self.n_spurious = 0

    def add(self, gold: Iterable[Entity], pred: Iterable[Entity], lost: Mapping[str, str | None]) -> None:
        """Count one article."""
        missed, hits, n_spurious = count_losses(gold, pred, lost)
        self.missed += missed
        self.hits += hits
        self.n_spurious += n_spurious

    def to_dict(self, order: Sequence[str] = REASONS) -> dict[str, Any]:
        """Return the counts; every reason of ``order`` is there."""
        n_missed, n_hits = self.missed.total(), self.hits.total()
        return {
            "missed": {reason: self.missed[reason] for reason in order},
            "hits": {kind: self.hits[kind] for kind in (RIGHT_EMOTION, WRONG_EMOTION)},
            "n_missed": n_missed,
            "n_hits": n_hits,
            "n_spurious": self.n_spurious,
            "n_gold": n_missed + n_hits,
            "n_pred": n_hits + self.n_spurious,
        }
