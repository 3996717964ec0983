"""The out-of-fold answers of some options, one fold after another, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.config import Config
from pipeline.emotions.sentiment import gold_targets
from pipeline.emotions.sentiment.contexts import gold_emotions
from pipeline.emotions.sentiment.members import build_member
from pipeline.entities.rerank import BoostedTrees, Calibrator, OutOfFoldRankings, choose
from pipeline.metric import article_scores
from pipeline.schema import EMOTIONS, Article, Emotion, Entity, Target
from pipeline.text import Document, match_key
from pipeline.workflow.out_of_fold import gold_by_key
from pipeline.workflow.tune.data import TFIDF, Metric, RunData

Pair = tuple[str, str]
"""newsId and match key."""


@dataclass(frozen=True)
class FoldResult:
    """What is known after some of the folds."""

    value: float
    """Of the metric, over the articles of these folds; the number rule is tuned on them."""
    scores: NDArray[np.float64]
    """Entity F1 and emotion F1 of each of these articles, in the order of their ids: (n_articles, 2)."""


def metric_value(scores: NDArray[np.float64], metric: Metric) -> float:
    """Return the figure that a search is to raise, from (n_articles, 2) entity and emotion F1."""
    return float(metric_of_articles(scores, metric).mean())


def metric_of_articles(scores: NDArray[np.float64], metric: Metric) -> NDArray[np.float64]:
    """Return each article's part of the metric: (..., n_articles, 2) to (..., n_articles)."""
    if metric == "score":
        mean: NDArray[np.float64] = scores.mean(axis=-1)
        return mean
    return scores[..., 0 if metric == "entity_f1" else 1]


class Objective:
    """Trains the reranker, and the emotion model where its options are searched, on all folds but one.

    After the last fold answers and figures are those that a training with the same options writes.

    Args:
        data: of the run.
        metric: the figure that is to rise.
        with_emotions: train the TF-IDF emotion model too; otherwise the run's own emotions are taken.
    """

    def __init__(self, data: RunData, metric: Metric, *, with_emotions: bool) -> None:
        self.data = data
        self.metric: Metric = metric
        self._gold = gold_by_key(data.articles)
        self._emotions = _FoldEmotions(data.articles, data.folds) if with_emotions else None

    def folds(self, config: Config) -> Iterator[FoldResult]:
        """Yield the result after each fold; a caller who has seen enough stops."""
        table = self.data.table
        emotions: dict[Pair, Emotion] = {} if self._emotions else dict(self.data.emotions)
        scores: list[NDArray[np.float64]] = [np.zeros(0)] * len(table.news_ids)
        done: list[int] = []
        for fold in sorted(set(self.data.folds)):
            rest = table.select(row for row, other in enumerate(self.data.folds) if other != fold)
            ranker = BoostedTrees(config.rerank, seed=config.seed).fit(rest.matrices, rest.labels, rest.names)
            held_out = [row for row, other in enumerate(self.data.folds) if other == fold]
            for row in held_out:
                scores[row] = ranker.score(table.matrices[row])
            if self._emotions:
                emotions |= self._emotions.answers(config, fold)
            done = sorted([*done, *held_out])
            yield self._result(config, done, [scores[row] for row in done], emotions)

    def _result(
        self, config: Config, rows: Sequence[int], scores: Sequence[np.ndarray], emotions: Mapping[Pair, Emotion]
    ) -> FoldResult:
        table = self.data.table.select(rows)
        calibrator = Calibrator.fit(scores, table.labels)
        probs = [calibrator.probs(score) for score in scores]
        folds = [self.data.folds[row] for row in rows]
        names = OutOfFoldRankings(table.news_ids, folds, table.keys, table.firsts, probs, table.labels, table.n_gold)
        rule, _ = names.tune(max_entities=config.rerank.max_entities)
        answers = {}
        for news_id, keys, firsts, prob in zip(table.news_ids, table.keys, table.firsts, probs, strict=True):
            chosen = [keys[row] for row in choose(prob, keys, firsts, rule)]
            answers[news_id] = [Entity(key, emotions.get((news_id, key), Emotion.POS)) for key in chosen]
        _, found = article_scores({news_id: self._gold[news_id] for news_id in table.news_ids}, answers)
        return FoldResult(metric_value(found, self.metric), found)


class _FoldEmotions:
    """Emotions of the gold entities of a fold from a TF-IDF model of the others; what was trained last is kept."""

    def __init__(self, articles: Sequence[Article], folds: Sequence[int]) -> None:
        self._documents = [Document.of(article) for article in articles]
        self._folds = {article.news_id: fold for article, fold in zip(articles, folds, strict=True)}
        self._max_chars = 0
        self._examples: list[Target] = []
        self._options: tuple[object, ...] = ()
        self._answers: dict[int, dict[Pair, Emotion]] = {}

    def answers(self, config: Config, fold: int) -> dict[Pair, Emotion]:
        """Return the emotion of each gold entity of a fold."""
        options = (config.sentiment.max_context_chars, config.sentiment.class_weight_power)
        if options != self._options:
            self._options, self._answers = options, {}
        if fold not in self._answers:
            self._answers[fold] = self._fit(config, fold)
        return self._answers[fold]

    def _fit(self, config: Config, fold: int) -> dict[Pair, Emotion]:
        if config.sentiment.max_context_chars != self._max_chars:
            self._max_chars = config.sentiment.max_context_chars
            self._examples = gold_targets(self._documents, max_chars=self._max_chars)
        rest = [example for example in self._examples if self._folds[example.group] != fold]
        held_out = [example for example in self._examples if self._folds[example.group] == fold]
        if not held_out:
            return {}
        probs = build_member(TFIDF, config).fit(rest, gold_emotions(rest)).predict_proba(held_out)
        return {
            (example.group, match_key(example.name)): EMOTIONS[int(column)]
            for example, column in zip(held_out, probs.argmax(1), strict=True)
        }
