"""Two runs on the same labelled articles: which answers changed, and which stage is behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipeline.artifacts import RunFolder
from pipeline.data.repeats import distinct
from pipeline.metric import article_scores, paired_difference
from pipeline.report.attribution import REASONS, RIGHT_EMOTION, WRONG_EMOTION
from pipeline.report.build import ArticleRecord, analyse_stream
from pipeline.report.figures import PLACES
from pipeline.schema import Article, Entity

SPURIOUS, ABSENT = "spurious", "absent"
"""States of a name that is not gold: in the answer, and not."""
STATES = (*REASONS, WRONG_EMOTION, RIGHT_EMOTION)
"""States of a gold entity, in the order of the pipeline."""


def states(record: ArticleRecord) -> dict[str, str]:
    """Return what became of each gold entity: the reason of a miss, or whether a hit's emotion is right."""
    emotions = {entity.name: entity.emotion for entity in record.pred}
    return {
        entity.name: record.lost[entity.name]
        or (RIGHT_EMOTION if emotions[entity.name] == entity.emotion else WRONG_EMOTION)
        for entity in record.outcome.gold
    }


def compare_runs(
    base: RunFolder, other: RunFolder, gold: Sequence[Article], *, workers: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Compare two runs on labelled articles that neither was trained on.

    Args:
        base: the run to compare with.
        other: the run that may be better.
        gold: labelled articles.
        workers: processes, of both runs together.

    Returns:
        Figures of both with the paired difference of ``other`` over ``base``, how many gold entities passed from one
        state to another; and a row for each article whose answers differ, with the names that changed their state.
    """
    articles = distinct(gold)
    gold_by_id: dict[str, tuple[Entity, ...]] = {}
    answers: tuple[dict[str, tuple[Entity, ...]], ...] = ({}, {})
    moved: Counter[tuple[str, str]] = Counter()
    spurious: Counter[str] = Counter()
    changed = []
    streams = (analyse_stream(run, articles, workers=max(1, workers // 2)) for run in (base, other))
    for article, (before, _), (after, _) in zip(articles, *streams, strict=True):
        gold_by_id[article.news_id] = before.outcome.gold
        for answer, record in zip(answers, (before, after), strict=True):
            answer[article.news_id] = record.pred
        was, became = states(before), states(after)
        moved.update((was[name], became[name]) for name in was)
        stray = [{entity.name for entity in record.pred} - set(was) for record in (before, after)]
        spurious.update(gone=len(stray[0] - stray[1]), new=len(stray[1] - stray[0]), kept=len(stray[0] & stray[1]))
        if set(before.pred) != set(after.pred):
            changed.append(_row(article, (before, after), (was, became), stray))
    figures = {
        "base": {"name": base.name},
        "other": {"name": other.name},
        "n_articles": len(articles),
        "n_changed": len(changed),
        "figures": _differences(gold_by_id, *answers),
        "transitions": [
            {"before": was, "after": became, "n": count}
            for (was, became), count in sorted(moved.items(), key=lambda item: (_place(item[0]), item[1]))
            if was != became
        ],
        "unchanged": {state: moved[state, state] for state in STATES},
        "spurious": {kind: spurious[kind] for kind in ("gone", "new", "kept")},
    }
    return figures, changed


def _place(move: tuple[str, str]) -> tuple[int, int]:
    return STATES.index(move[0]), STATES.index(move[1])


def _row(
    article: Article,
    records: Sequence[ArticleRecord],
    found: Sequence[dict[str, str]],
    stray: Sequence[set[str]],
) -> dict[str, Any]:
    """Describe an article whose answers differ."""
    scores = [float(record.scores[0].mean()) for record in records]
    was, became = found
    entities = [
        {"entity": name, "before": was[name], "after": became[name]} for name in was if was[name] != became[name]
    ]
    for name in sorted(stray[0] ^ stray[1]):
        entities.append(
            {
                "entity": name,
                "before": SPURIOUS if name in stray[0] else ABSENT,
                "after": SPURIOUS if name in stray[1] else ABSENT,
            }
        )
    return {
        "id": article.news_id,
        "title": article.title,
        "score_before": round(scores[0], PLACES),
        "score_after": round(scores[1], PLACES),
        "delta": round(scores[1] - scores[0], PLACES),
        "entities": entities,
    }


def _differences(
    gold: dict[str, tuple[Entity, ...]], base: dict[str, tuple[Entity, ...]], other: dict[str, tuple[Entity, ...]]
) -> dict[str, dict[str, float]]:
    means = []
    for answers in (base, other):
        entity, emotion = article_scores(gold, answers)[1].mean(axis=0).tolist()
        means.append({"entity_f1": entity, "emotion_f1": emotion, "score": (entity + emotion) / 2})
    return {
        name: {
            "base": round(means[0][name], PLACES),
            "other": round(means[1][name], PLACES),
            **{part: round(value, PLACES) for part, value in found._asdict().items()},
        }
        for name, found in paired_difference(gold, base, other).items()
    }
