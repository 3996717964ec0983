"""Kind metric: the score and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.errors import PipelineError
from pipeline.metric import FIGURES, article_scores, evaluate
from pipeline.schema import EMOTIONS, Entity
from pipeline.submission import read_submission

from .framework import Adapter, Check, Given, Tools, entities_of, equals, file_of, mentions_all

# --- metric


@dataclass(frozen=True)
class Scored:
    """Every figure of an evaluation, and the F1 pairs of the articles."""

    figures: dict[str, Any]
    articles: dict[str, tuple[float, float]]
    message: str | None = None


def metric(given: Given, tools: Tools) -> Scored:
    """Score a prediction, given by article or as an upload file."""
    gold = {news_id: entities_of(pairs) for news_id, pairs in given["gold"].items()}
    if "pred" in given:
        pred: Mapping[str, Any] = {news_id: entities_of(pairs) for news_id, pairs in given["pred"].items()}
    else:
        pred = read_submission(file_of(given, tools.tmp_path, name="upload.txt", lists=("lines",)))
    try:
        figures = evaluate(gold, pred).to_dict()
        ids, scores = article_scores(gold, pred)
    except PipelineError as error:
        return Scored({}, {}, error.message)
    return Scored(figures, dict(zip(ids, map(tuple, scores.tolist()), strict=True)))


def _flat(figures: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested figures as micro_entity_f1 and the like."""
    flat: dict[str, Any] = {}
    for name, value in figures.items():
        flat[prefix + name] = value
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}_")
    return flat


_ALIASES = {
    "articles": "n_articles",
    "missing": "n_missing",
    "unexpected": "n_unexpected",
    "extra": "n_unexpected",
    "hits": "hits_n",
    "n_hits": "hits_n",
    "emotion_accuracy": "hits_emotion_accuracy",
    "all_pos_accuracy": "hits_all_pos_accuracy",
    "micro_f1": "micro_entity_f1",
}


def _figure(key: str, values: Mapping[str, Any]) -> Check | None:
    name = _ALIASES.get(key, key)
    example = [Entity("甲社", emotion) for emotion in EMOTIONS[:1]]
    if name not in _flat(evaluate({"example": example}, {"example": example}).to_dict()):
        return None

    def check(scored: Scored, wanted: Any) -> None:
        found = _flat(scored.figures)[name]
        if isinstance(wanted, float) and found is not None:
            assert abs(found - wanted) < 2e-6
        else:
            assert found == wanted

    return check


def _per_article(scored: Scored, wanted: Any) -> None:
    for news_id, figures in wanted.items():
        entity, emotion = scored.articles[news_id]
        found = dict(zip(FIGURES, (entity, emotion, (entity + emotion) / 2), strict=True))
        for name, value in figures.items():
            assert abs(found[name] - value) < 2e-6


METRIC = Adapter(
    metric,
    {
        **dict.fromkeys(("per_article", "by_article"), _per_article),
        **dict.fromkeys(("raises", "error"), equals(lambda scored: scored.message is not None)),
        "message_mentions": mentions_all(lambda scored: scored.message),
    },
    _figure,
)
