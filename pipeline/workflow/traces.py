"""What the stages made of an article, and the answer that follows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pipeline.data.simplified import as_written
from pipeline.emotions.sentiment.contexts import WeightedSpan
from pipeline.emotions.sentiment.scores import Probs, likeliest
from pipeline.entities.candidates import CandidateSet
from pipeline.joint import NameVotes
from pipeline.schema import Article, ChosenEntity, Prediction, RunnerUp
from pipeline.text import Document
from pipeline.text.spans import ScoredSpan
from pipeline.workflow.entity_finder import Ranking

N_RUNNERS_UP = 10


@dataclass(frozen=True)
class Heard:
    """What the taggers say of an article."""

    document: Document
    spans: Sequence[ScoredSpan] | None
    """For the reranker's candidates; None in a run without a tagger."""
    votes: NameVotes | None
    """Of the joint tagger, in a run that has one."""


@dataclass(frozen=True)
class Trace:
    """An article's way through the stages, in the script in which they read it."""

    article: Article
    """As it was read: simplified, where the run says so (``text.to_simplified``)."""
    heard: Heard
    offered: CandidateSet
    """Every candidate, before pruning."""
    ranked: Ranking
    prediction: Prediction
    failure: str = ""
    """Why it could not be answered, in a word; the stages then saw an article without text."""
    untouched: Article | None = None
    """What was asked, where that is another text than ``article``."""

    @property
    def answer(self) -> Prediction:
        """The prediction, its names and mentions slices of the untouched fields."""
        if self.untouched is None:
            return self.prediction
        return as_written(self.prediction, self.article, self.untouched)


@dataclass(frozen=True)
class Attention:
    """What one head looked at to judge one entity."""

    entity: str
    head: str
    spans: list[WeightedSpan]
    """Of the document's text."""


def prediction_of(news_id: str, answer: Ranking, emotions: Probs) -> Prediction:
    """Return the answer: what a ranking has chosen, and the emotion probabilities of each, (n_chosen, n_emotions)."""
    candidates, probs = answer.candidates, answer.probs
    runners_up = islice((row for row in answer.order if row not in answer.chosen), N_RUNNERS_UP)
    return Prediction(
        news_id,
        tuple(
            _entity(candidates, row, float(probs[row]), emotion)
            for row, emotion in zip(answer.chosen, emotions, strict=True)
        ),
        tuple(RunnerUp(candidates.surface(row), float(probs[row])) for row in runners_up),
    )


def _entity(candidates: CandidateSet, row: int, score: float, emotion_probs: np.ndarray) -> ChosenEntity:
    p_pos, p_norm, p_neg = (float(prob) for prob in emotion_probs)
    [emotion] = likeliest(emotion_probs[None])
    return ChosenEntity(candidates.surface(row), emotion, score, (p_pos, p_norm, p_neg), candidates.mentions(row))


def in_document(spans: Iterable[WeightedSpan], origin: Sequence[tuple[int, int, int]]) -> list[WeightedSpan]:
    """Move spans of a target's text to the document; those between two pieces are left out."""
    begins = [begin for begin, _, _ in origin]
    moved = []
    for start, stop, weight in spans:
        begin, source, length = origin[bisect_right(begins, start) - 1]
        if stop <= begin + length:
            moved.append(WeightedSpan(start - begin + source, stop - begin + source, weight))
    return moved
