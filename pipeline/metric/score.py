"""The competition's score and the figures printed beside it.

Per article F1 over the *set* of entities and over the *set* of (entity, emotion) pairs; each is
averaged over the gold articles, and the score is half their sum. Decisions the rules leave open:

* 0/0: with nothing to find and nothing given precision, recall and F1 are 1; with only one side
  empty they are 0. An article missing from the prediction is an empty answer.
* An entity repeated with the same emotion counts once. Given with two emotions (an upload file
  cannot hold that) it is one entity, but two pairs, of which at most one can be right.
* Entities are compared exactly, after trimming outer blanks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataError
from pipeline.metric.counts import Counts
from pipeline.schema import EMOTIONS, Emotion, Entity

Pair = tuple[str, Emotion]
EntitiesById = Mapping[str, Collection[Entity]]
FIGURES = ("entity_f1", "emotion_f1", "score")
"""The figures with intervals, in the order of the columns that are resampled."""


@dataclass(frozen=True, slots=True)
class PRF(Counts):
    """Counts under the rule of the competition: with nothing wanted and nothing given all is right."""

    @property
    def precision(self) -> float:
        """Share of the predicted that is right."""
        return self.hits / self.n_pred if self.n_pred else float(self.n_gold == 0)

    @property
    def recall(self) -> float:
        """Share of the gold that was found."""
        return self.hits / self.n_gold if self.n_gold else float(self.n_pred == 0)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.n_pred + self.n_gold
        return 2 * self.hits / total if total else 1.0


class Interval(NamedTuple):
    """A 95% bootstrap interval (percentiles of the resampled means)."""

    low: float
    high: float


class Difference(NamedTuple):
    """How far one prediction is above another on the same articles, with its 95% interval."""

    delta: float
    low: float
    high: float
    share_better: float
    """Share of the resamples in which the difference is above zero."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A prediction scored against gold. Accuracies are None where no entity was hit."""

    n_articles: int
    n_missing: int
    """Gold articles without a row in the prediction (each scores as an empty answer)."""
    n_unexpected: int
    """Predicted articles that gold does not hold (ignored)."""
    entity_f1: float
    emotion_f1: float
    score: float
    micro_entity: PRF
    micro_emotion: PRF
    n_hits: int
    """Entities that are in both gold and prediction of their article."""
    emotion_accuracy: float | None
    all_pos_accuracy: float | None
    """Accuracy of answering POS for each of the same hits."""
    per_emotion: Mapping[Emotion, PRF]
    """Pooled counts of the (entity, emotion) pairs of one emotion."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """By the names in ``FIGURES``; empty when no resample was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values, floats rounded to 6 places."""
        return {
            "n_articles": self.n_articles,
            "n_missing": self.n_missing,
            "n_unexpected": self.n_unexpected,
            "entity_f1": round(self.entity_f1, 6),
            "emotion_f1": round(self.emotion_f1, 6),
            "score": round(self.score, 6),
            "interval_95": {name: [round(bound, 6) for bound in pair] for name, pair in self.intervals.items()},
            "micro": {"entity": self.micro_entity.to_dict(), "emotion": self.micro_emotion.to_dict()},
            "hits": {
                "n": self.n_hits,
                "emotion_accuracy": _rounded(self.emotion_accuracy),
                "all_pos_accuracy": _rounded(self.all_pos_accuracy),
            },
            "per_emotion": {emotion.value: counts.to_dict() for emotion, counts in self.per_emotion.items()},
        }


def entity_f1(gold: Iterable[str], pred: Iterable[str]) -> float:
    """Return one article's F1 over the sets of entity names."""
    return _counts(_trimmed(gold), _trimmed(pred)).f1


def emotion_f1(gold: Iterable[Entity], pred: Iterable[Entity]) -> float:
    """Return one article's F1 over the sets of (entity, emotion) pairs."""
    return _counts(_pairs(gold), _pairs(pred)).f1


def article_f1(
    hits: NDArray[np.float64], n_pred: NDArray[np.int64], n_gold: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the F1 of articles from their counts, (n_articles,) each; hits may be expected ones."""
    total = n_pred + n_gold
    return np.where(total > 0, 2 * hits / np.maximum(total, 1), 1.0)


def article_scores(gold: EntitiesById, pred: EntitiesById) -> tuple[list[str], NDArray[np.float64]]:
    """Score each gold article.

    Returns:
        The gold ids in sorted order (so that no figure depends on the order of the mapping) and a
        float64 array (n_articles, 2) of their entity F1 and emotion F1.

    Raises:
        DataError: gold holds no article.
    """
    articles = _aligned(gold, pred)
    return list(articles), _scores(articles)


def evaluate(gold: EntitiesById, pred: EntitiesById, *, n_resamples: int = 1000, seed: int = 0) -> Evaluation:
    """Score a prediction against gold.

    Args:
        gold: entities by newsId; the score is a mean over these articles.
        pred: entities by newsId; ids that gold does not hold are counted and ignored.
        n_resamples: bootstrap resamples behind the intervals, 0 for none.
        seed: of the bootstrap.

    Raises:
        DataError: gold holds no article.
    """
    articles = _aligned(gold, pred)
    scores = _scores(articles)
    micro_entity, micro_emotion = PRF(), PRF()
    per_emotion = dict.fromkeys(EMOTIONS, PRF())
    n_hits = n_right = n_pos = 0
    for gold_pairs, pred_pairs in articles.values():
        micro_entity += _counts(_names(gold_pairs), _names(pred_pairs))
        micro_emotion += _counts(gold_pairs, pred_pairs)
        for emotion in EMOTIONS:
            per_emotion[emotion] += _counts(_of_emotion(gold_pairs, emotion), _of_emotion(pred_pairs, emotion))
        for name in _names(gold_pairs) & _names(pred_pairs):
            gold_emotions = _emotions_of(gold_pairs, name)
            n_hits += 1
            # Equal sets, so that answering with every emotion at once is not a way to be right.
            n_right += gold_emotions == _emotions_of(pred_pairs, name)
            n_pos += gold_emotions == {Emotion.POS}
    entity_mean, emotion_mean, score = _figures(scores.mean(axis=0)).tolist()
    return Evaluation(
        n_articles=len(articles),
        n_missing=sum(news_id not in pred for news_id in gold),
        n_unexpected=sum(news_id not in gold for news_id in pred),
        entity_f1=entity_mean,
        emotion_f1=emotion_mean,
        score=score,
        micro_entity=micro_entity,
        micro_emotion=micro_emotion,
        n_hits=n_hits,
        emotion_accuracy=n_right / n_hits if n_hits else None,
        all_pos_accuracy=n_pos / n_hits if n_hits else None,
        per_emotion=per_emotion,
        intervals=_intervals(scores, n_resamples=n_resamples, seed=seed),
    )


def paired_difference(
    gold: EntitiesById, base: EntitiesById, other: EntitiesById, *, n_resamples: int = 1000, seed: int = 0
) -> dict[str, Difference]:
    """Return how far ``other`` is above ``base``, resampling the articles of both together.

    Returns:
        A Difference for each name in ``FIGURES``.

    Raises:
        DataError: gold holds no article.
    """
    gain = article_scores(gold, other)[1] - article_scores(gold, base)[1]
    return mean_gain(gain, n_resamples=n_resamples, seed=seed)


def mean_gain(gain: NDArray[np.float64], *, n_resamples: int = 1000, seed: int = 0) -> dict[str, Difference]:
    """Return the mean gain over articles with its interval, for each name in ``FIGURES``.

    Args:
        gain: float64 (n_articles, 2), differences of entity F1 and emotion F1 (of several seeds: their means).
        n_resamples: of the articles.
        seed: of the bootstrap.
    """
    resampled = _resampled(gain, n_resamples=n_resamples, seed=seed)
    low, high = np.percentile(resampled, (2.5, 97.5), axis=0).tolist()
    deltas, better = _figures(gain.mean(axis=0)).tolist(), (resampled > 0).mean(axis=0).tolist()
    return {name: Difference(*row) for name, *row in zip(FIGURES, deltas, low, high, better, strict=True)}


def hit_counts(gold: EntitiesById, pred: EntitiesById) -> NDArray[np.float64]:
    """Count in each gold article, by sorted id, the hit entities with the right emotion, and the hit entities.

    Returns:
        float64 (n_articles, 2).
    """
    counts = []
    for gold_pairs, pred_pairs in _aligned(gold, pred).values():
        hits = _names(gold_pairs) & _names(pred_pairs)
        counts.append(
            (sum(_emotions_of(gold_pairs, name) == _emotions_of(pred_pairs, name) for name in hits), len(hits))
        )
    return np.array(counts, dtype=np.float64)


def ratio_gain(
    base: NDArray[np.float64], other: NDArray[np.float64], *, n_resamples: int = 1000, seed: int = 0
) -> Difference:
    """Return how far a pooled ratio of ``other`` is above that of ``base``, resampling the articles of both together.

    Args:
        base: float64 (n_articles, 2), part and whole of each article.
        other: the same of the same articles.
        n_resamples: of the articles.
        seed: of the bootstrap.
    """
    both = np.concatenate([base, other], axis=1)
    rng = np.random.default_rng(seed)
    sums = np.array([both[rng.integers(len(both), size=len(both))].sum(0) for _ in range(n_resamples)])
    resampled = _ratio(sums[:, 2:]) - _ratio(sums[:, :2])
    delta = float(_ratio(other.sum(0)) - _ratio(base.sum(0)))
    low, high = np.percentile(resampled, (2.5, 97.5)).tolist()
    return Difference(delta, low, high, float((resampled > 0).mean()))


def format_evaluation(evaluation: Evaluation) -> str:
    """Lay an evaluation out as a short plain-text table."""
    lines = [
        f"{evaluation.n_articles} gold articles; {evaluation.n_missing} missing from the prediction,"
        f" {evaluation.n_unexpected} predicted but not in gold",
        "",
        f"{'mean over articles':<20}{'value':>8}   95% interval",
    ]
    for name, label in zip(FIGURES, ("entity F1", "entity+emotion F1", "score"), strict=True):
        interval = evaluation.intervals.get(name)
        bounds = f"   {interval.low:.4f} - {interval.high:.4f}" if interval else ""
        lines.append(f"{label:<20}{getattr(evaluation, name):>8.4f}{bounds}")
    lines += ["", f"{'pooled':<20}{'prec':>8}{'recall':>8}{'F1':>8}{'hits':>8}{'pred':>8}{'gold':>8}"]
    rows = {"entity": evaluation.micro_entity, "entity+emotion": evaluation.micro_emotion}
    for label, counts in (
        rows | {f"  {emotion}": counts for emotion, counts in evaluation.per_emotion.items()}
    ).items():
        ratios = f"{counts.precision:>8.4f}{counts.recall:>8.4f}{counts.f1:>8.4f}"
        lines.append(f"{label:<20}{ratios}{counts.hits:>8}{counts.n_pred:>8}{counts.n_gold:>8}")
    lines += [
        "",
        f"emotion accuracy on {evaluation.n_hits} hit entities: {_percent(evaluation.emotion_accuracy)}"
        f" (answering POS always: {_percent(evaluation.all_pos_accuracy)})",
    ]
    return "\n".join(lines)


def _trimmed(names: Iterable[str]) -> set[str]:
    return {name.strip() for name in names}


def _pairs(entities: Iterable[Entity]) -> set[Pair]:
    return {(entity.name.strip(), entity.emotion) for entity in entities}


def _aligned(gold: EntitiesById, pred: EntitiesById) -> dict[str, tuple[set[Pair], set[Pair]]]:
    """Return gold and predicted pairs of each gold article, sorted by id."""
    if not gold:
        raise DataError("no gold article to score against")
    return {news_id: (_pairs(gold[news_id]), _pairs(pred.get(news_id, ()))) for news_id in sorted(gold)}


def _scores(articles: Mapping[str, tuple[set[Pair], set[Pair]]]) -> NDArray[np.float64]:
    """Return entity F1 and emotion F1 of each article: float64 (n_articles, 2)."""
    pairs = articles.values()
    return np.array([(_counts(_names(gold), _names(pred)).f1, _counts(gold, pred).f1) for gold, pred in pairs])


def _names(pairs: Set[Pair]) -> set[str]:
    return {name for name, _ in pairs}


def _of_emotion(pairs: Set[Pair], emotion: Emotion) -> set[Pair]:
    return {pair for pair in pairs if pair[1] == emotion}


def _emotions_of(pairs: Set[Pair], name: str) -> set[Emotion]:
    return {emotion for other, emotion in pairs if other == name}


def _counts(gold: Set[Any], pred: Set[Any]) -> PRF:
    return PRF(len(gold & pred), len(pred), len(gold))


def _figures(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the score, half the sum of the two means, as a last column."""
    return np.concatenate([means, means.mean(axis=-1, keepdims=True)], axis=-1)


def bootstrap_means(values: NDArray[np.float64], *, n_resamples: int = 1000, seed: int = 0) -> NDArray[np.float64]:
    """Return the mean over articles in each resample of them: (n_articles, ...) -> (n_resamples, ...)."""
    rng = np.random.default_rng(seed)
    n_articles = len(values)
    # One resample at a time: all indices at once would take gigabytes on the full training file.
    return np.stack([values[rng.integers(n_articles, size=n_articles)].mean(axis=0) for _ in range(n_resamples)])


def _resampled(values: NDArray[np.float64], *, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """Return the ``FIGURES`` of each resample of the articles: float64 (n_resamples, 3)."""
    return _figures(bootstrap_means(values, n_resamples=n_resamples, seed=seed))


def _intervals(scores: NDArray[np.float64], *, n_resamples: int, seed: int) -> dict[str, Interval]:
    if n_resamples == 0:
        return {}
    bounds = np.percentile(_resampled(scores, n_resamples=n_resamples, seed=seed), (2.5, 97.5), axis=0)
    return {name: Interval(*pair) for name, pair in zip(FIGURES, bounds.T.tolist(), strict=True)}


def _ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide parts by wholes, (..., 2) to (...); 0 where there is nothing."""
    part, whole = sums[..., 0], sums[..., 1]
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return ratio


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
