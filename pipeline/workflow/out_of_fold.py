"""The whole pipeline's answers for its training articles, every model out-of-fold."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.artifacts import RunFolder, read_table
from pipeline.metric import Evaluation, evaluate
from pipeline.schema import EMOTIONS, Article, Emotion, Entity
from pipeline.text import match_key

PROBS = ("p_pos", "p_norm", "p_neg")


def out_of_fold_emotions(run: RunFolder) -> dict[tuple[str, str], Emotion]:
    """Return the emotion of each gold entity by newsId and match key, from models that did not see its article."""
    emotions: dict[tuple[str, str], Emotion] = {}
    for row in read_table(run.oof("sentiment")).to_dict("records"):
        best = max(range(len(EMOTIONS)), key=lambda column: float(row[PROBS[column]]))
        emotions[row["news_id"], match_key(row["name"])] = EMOTIONS[best]
    return emotions


def out_of_fold_predictions(run: RunFolder) -> dict[str, list[Entity]]:
    """Join a run's out-of-fold tables: newsId to the chosen entities, as match keys, with their emotions.

    An entity that is chosen but not gold has no out-of-fold emotion; it counts as wrong whatever
    its emotion, and gets POS.
    """
    emotions = out_of_fold_emotions(run)
    answers: dict[str, list[Entity]] = {}
    for row in read_table(run.oof("rerank")).to_dict("records"):
        if row["is_chosen"] == "1":
            pair = (row["newsId"], row["entity"])
            answers.setdefault(pair[0], []).append(Entity(pair[1], emotions.get(pair, Emotion.POS)))
    return answers


def gold_by_key(articles: Iterable[Article]) -> dict[str, tuple[Entity, ...]]:
    """Return newsId to the gold entities as match keys, as ``out_of_fold_predictions`` names them."""
    return {
        article.news_id: tuple(Entity(match_key(entity.name), entity.emotion) for entity in article.entities or ())
        for article in articles
    }


def score_out_of_fold(run: RunFolder, articles: Iterable[Article]) -> Evaluation:
    """Score a run on some of its training articles; names are compared as match keys."""
    return evaluate(gold_by_key(articles), out_of_fold_predictions(run))
