"""One article in detail, as plain JSON values: what a reader of the report looks at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.emotions.sentiment.contexts import find_mentions
from pipeline.report.outcome import Outcome, answered
from pipeline.schema import Mention
from pipeline.submission.clean import clean_name
from pipeline.text import Document, match_key
from pipeline.workflow.predict import Predictor
from pipeline.workflow.traces import N_RUNNERS_UP, Trace

N_FEATURES = 8
"""Features shown of a candidate: those that lifted or lowered it most."""

View = dict[str, Any]


def article_view(
    predictor: Predictor,
    trace: Trace,
    *,
    outcome: Outcome | None = None,
    lost: Mapping[str, str | None] | None = None,
    explain_next: bool = False,
) -> View:
    """Describe an article: its texts, gold and predicted entities with mentions, and the next candidates.

    Args:
        predictor: explains scores.
        trace: of the article.
        outcome: of a labelled article.
        lost: reason of each missed gold entity, None for a hit.
        explain_next: also give the features of the next candidates, and the attention of the heads.
    """
    article, ranked = trace.article, trace.ranked
    gold = {} if outcome is None else {entity.name: entity.emotion for entity in outcome.gold}
    upcoming = [row for row in ranked.order if row not in ranked.chosen][:N_RUNNERS_UP]
    missed = _rows_of(trace, [name for name, reason in (lost or {}).items() if reason is not None])
    wanted = [*ranked.chosen, *(upcoming if explain_next else ()), *missed.values()]
    features = feature_lists(predictor, trace, wanted)
    pred = []
    for index, name in answered(trace):
        entity, row = trace.prediction.entities[index], ranked.chosen[index]
        pred.append(
            {
                "entity": name,
                "emotion": entity.emotion.value,
                "score": _rounded(entity.score),
                "probs": [_rounded(prob) for prob in entity.probs],
                "is_gold": name in gold,
                "mentions": _places(entity.mentions),
                "features": features[row],
            }
        )
    emotions = {row["entity"]: row["emotion"] for row in pred}
    following = []
    for row in upcoming:
        name = clean_name(ranked.candidates.surface(row))
        entry = {"entity": name, "score": _rounded(ranked.probs[row]), "is_gold": name in gold}
        if explain_next:
            entry |= {"mentions": _places(ranked.candidates.mentions(row)), "features": features[row]}
        following.append(entry)
    return {
        "id": article.news_id,
        "title": article.title,
        "content": article.content,
        "gold": [
            {
                "entity": name,
                "emotion": emotion.value,
                "mentions": _places(mentions_of(ranked.candidates.document, name)),
                "reason": (lost or {}).get(name),
                "is_right_emotion": emotions[name] == emotion if name in emotions else None,
                "score": _rounded(ranked.probs[missed[name]]) if name in missed else None,
                "features": features[missed[name]] if name in missed else [],
            }
            for name, emotion in gold.items()
        ],
        "pred": pred,
        "next": following,
        "attention": attention_maps(predictor, trace) if explain_next else [],
    }


def feature_lists(predictor: Predictor, trace: Trace, rows: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the strongest features of some candidates, by row: name, value (None if it does not apply) and SHAP value.

    SHAP values are in log odds (LightGBM's raw score): positive ones lifted the candidate.
    """
    distinct = list(dict.fromkeys(rows))
    lists = {}
    for row, shap in zip(distinct, predictor.contributions(trace.ranked, distinct), strict=True):
        best = np.argsort(-np.abs(np.round(shap, 9)), kind="stable")[:N_FEATURES]
        values = trace.ranked.matrix[row]
        lists[row] = [
            {
                "name": trace.ranked.names[column],
                "value": _rounded(values[column]) if np.isfinite(values[column]) else None,
                "shap": _rounded(shap[column]),
            }
            for column in best
        ]
    return lists


def attention_maps(predictor: Predictor, trace: Trace) -> list[dict[str, Any]]:
    """Return the attention of the heads over the untouched fields; the weight is relative to the largest, 0 to 1."""
    document = trace.ranked.candidates.document
    maps = []
    for looked in predictor.attention(trace):
        largest = max((span.weight for span in looked.spans), default=0.0) or 1.0
        weights = [
            [*_place(document.mention(span.start, span.stop)), _rounded(span.weight / largest)] for span in looked.spans
        ]
        maps.append({"entity": clean_name(looked.entity), "head": looked.head, "weights": weights})
    return maps


def mentions_of(document: Document, name: str) -> list[Mention]:
    """Return the mentions of any name in the untouched fields."""
    return [document.mention(*span) for span in find_mentions(document.text, match_key(name))]


def _rows_of(trace: Trace, names: Sequence[str]) -> dict[str, int]:
    """Return the row of each name that is a candidate after pruning."""
    keys = {match_key(name): name for name in names}
    return {keys[key]: row for row, key in enumerate(trace.ranked.candidates.keys) if key in keys}


def _places(mentions: Iterable[Mention]) -> list[list[Any]]:
    return [_place(mention) for mention in mentions]


def _place(mention: Mention) -> list[Any]:
    return [mention.field, mention.start, mention.end]


def _rounded(value: Any) -> float:
    return round(float(value), 4)
