"""What the score would be with one stage, or several, made perfect: the ladder from the real pipeline to the ceiling.

An idealisation changes one decision and leaves every other to the real models:

* ``perfect_candidates``: every gold name that the text holds is a candidate, in its gold spelling, past pruning. The
  real feature code describes it by its mentions, the real reranker places it, the real number rule cuts.
* ``perfect_ranking``: of the real candidates the gold ones come first (those already in the answer before the others,
  then by the real ranking); the answer has as many names as the real one.
* ``perfect_number``: the real ranking; as many names as gold has (three at most, as the rules of the task want).
* ``perfect_emotion``: every hit gets its gold emotion.

Combined, each idealisation applies where it can: with ``perfect_ranking`` and ``perfect_number`` exactly the gold names
among the candidates are answered and nothing is filled up; ``perfect_candidates`` with ``perfect_ranking`` adds the
gold names of the text to those that may come first.

A name that the text does not hold is never found: all four together give the ceiling of any system that cuts
names out of the text. What cannot lower a figure: ``perfect_emotion``, ever; ``perfect_ranking``; and
``perfect_candidates`` beside it. ``perfect_number`` beside it cannot lower entity F1, but a hit more whose emotion is
wrong lowers entity+emotion F1. By themselves ``perfect_candidates`` and ``perfect_number`` can lower anything: a
name more in a real ranking may displace another, and the true number is of little use to a wrong order.

Three rows for comparison: ``random`` draws as many candidates as the real answer has names, and emotions by their
shares in training (mean of ``N_DRAWS`` draws); ``most_frequent`` takes the candidates that occur most often, with
the emotion that training shows most; ``human``, on request, is how far two people agree on articles of the
competition. It is no figure of the articles at hand, and says nothing about those of another source.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.metric import PRF, bootstrap_means
from pipeline.report.figures import figure, score_figures
from pipeline.report.outcome import Outcome
from pipeline.schema import EMOTIONS, MAX_ENTITIES, Emotion

REAL, RANDOM, MOST_FREQUENT, HUMAN = "real", "random", "most_frequent", "human"
CANDIDATES, RANKING, NUMBER, EMOTION = "perfect_candidates", "perfect_ranking", "perfect_number", "perfect_emotion"
STAGES = (CANDIDATES, RANKING, NUMBER, EMOTION)
IDEALISATIONS = tuple(parts for size in range(1, len(STAGES) + 1) for parts in combinations(STAGES, size))
ROWS = (REAL, *("+".join(parts) for parts in IDEALISATIONS), RANDOM, MOST_FREQUENT)
"""Rows that are scored article by article."""
HUMAN_AGREEMENT = (0.66, 0.55)
"""Entity F1 and entity+emotion F1 between two people."""
HUMAN_SOURCE = (
    "two people's labels of the same articles: 17 pairs in what the organiser published before the competition "
    "(sohucampus2019/coreEntityEmotion_baseline, commit d375ce0)"
)
N_DRAWS = 20


class Answer(NamedTuple):
    """An answer as far as it counts: the gold names it holds, and its size."""

    hits: tuple[str, ...]
    n_pred: int


def answer(outcome: Outcome, perfect: Sequence[str] = ()) -> Answer:
    """Return the answer with some decisions made perfect; emotions aside."""
    real = outcome.with_gold if CANDIDATES in perfect else outcome.standing
    if RANKING in perfect:
        standing = outcome.standing
        found = outcome.kept | outcome.in_text if CANDIDATES in perfect else outcome.kept
        last = len(standing.ranks)
        best_first = sorted(
            (name for name in outcome.names if name in found),
            key=lambda name: (name not in standing.hits, name not in outcome.kept, standing.ranks.get(name, last)),
        )
        if NUMBER in perfect:
            hits = tuple(best_first[:MAX_ENTITIES])
            return Answer(hits, len(hits))
        # Nothing but gold is left to choose from where the real pipeline had no candidate at all.
        return Answer(tuple(best_first[: standing.n_chosen]), standing.n_chosen)
    if NUMBER in perfect:
        count = min(len(outcome.gold), MAX_ENTITIES, outcome.n_offered)
        return Answer(tuple(name for name in outcome.names if real.ranks.get(name, count) < count), count)
    return Answer(real.hits, real.n_chosen)


def article_scores(outcome: Outcome, shares: NDArray[np.float64], *, seed: int, news_id: str) -> NDArray[np.float64]:
    """Score one article under every row of ``ROWS``.

    Args:
        outcome: of the article.
        shares: of the emotions in training: float64 (n_emotions,).
        seed: of the random row; the article's id is added, so that neighbours do not matter.
        news_id: of the article.

    Returns:
        float64 (n_rows, 2): entity F1 and entity+emotion F1.
    """
    gold = {entity.name: entity.emotion for entity in outcome.gold}

    def f1(hits: Sequence[str], n_pred: int, emotions: Any) -> tuple[float, float]:
        right = sum(emotions[name] == gold[name] for name in hits)
        return PRF(len(hits), n_pred, len(gold)).f1, PRF(right, n_pred, len(gold)).f1

    scores = [f1(*answer(outcome), outcome.emotions)]
    for perfect in IDEALISATIONS:
        scores.append(f1(*answer(outcome, perfect), gold if EMOTION in perfect else outcome.emotions))
    rng = np.random.default_rng([seed, zlib.crc32(news_id.encode("utf-8", "surrogatepass"))])
    scores.append(tuple(np.mean([f1(*_draw(outcome, shares, rng)) for _ in range(N_DRAWS)], axis=0).tolist()))
    majority = EMOTIONS[int(np.argmax(shares))]
    frequent = [name for name in outcome.frequent if name in gold]
    scores.append(f1(frequent, len(outcome.frequent), dict.fromkeys(frequent, majority)))
    return np.array(scores)


def _draw(
    outcome: Outcome, shares: NDArray[np.float64], rng: np.random.Generator
) -> tuple[list[str], int, dict[str, Emotion]]:
    """Draw candidates: the gold ones among them stand for the first rows, their order is of no consequence."""
    names = [name for name in outcome.names if name in outcome.offered]
    n_drawn = min(outcome.standing.n_chosen, outcome.n_offered)
    rows = rng.choice(outcome.n_offered, size=n_drawn, replace=False)
    hits = [names[row] for row in rows if row < len(names)]
    return hits, n_drawn, {name: EMOTIONS[rng.choice(len(EMOTIONS), p=shares)] for name in hits}


def ladder(scores: NDArray[np.float64], *, n_resamples: int = 1000, seed: int = 0) -> list[dict[str, Any]]:
    """Average the rows over articles.

    Args:
        scores: float64 (n_articles, n_rows, 2), as from ``article_scores``.
        n_resamples: bootstrap resamples of the articles, the same for all rows.
        seed: of the bootstrap.

    Returns:
        A row each: the figures; for a single idealisation also ``cost``, the points of score (hundredths) that it
        gains, and its paired interval.
    """
    means = scores.mean(axis=0)
    resampled = bootstrap_means(scores, n_resamples=n_resamples, seed=seed)
    rows: list[dict[str, Any]] = []
    for index, key in enumerate(ROWS):
        row: dict[str, Any] = {"key": key, **score_figures(means[index], resampled[:, index])}
        if key in STAGES:
            gain = 100 * (means[index] - means[0]).mean()
            row["cost"] = round(float(gain), 4)
            row["cost_interval"] = figure(gain, 100 * (resampled[:, index] - resampled[:, 0]).mean(axis=-1))
        else:
            row["cost"] = row["cost_interval"] = None
        rows.append(row)
    return rows


def human_row() -> dict[str, Any]:
    """Return the row of two people who labelled the same articles of the competition, with its source."""
    entity, emotion = HUMAN_AGREEMENT
    human = {"entity_f1": entity, "emotion_f1": emotion, "score": (entity + emotion) / 2}
    figures = {name: figure(value) for name, value in human.items()}
    return {"key": HUMAN, **figures, "cost": None, "cost_interval": None, "source": HUMAN_SOURCE}
