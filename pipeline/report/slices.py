"""Parts of the gold articles, and how well each of them goes: the worst first."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.metric import bootstrap_means
from pipeline.report.figures import ratio, score_figures
from pipeline.report.outcome import Outcome
from pipeline.schema import Article
from pipeline.text import match_key

LENGTH_BOUNDS = (500, 1000, 2000)
"""Characters of title and content at which the next bin begins."""
NAME_BOUNDS = (3, 5, 9)
"""Characters of a name, likewise."""
MIN_ARTICLES = 10
"""Slices of fewer articles come last, whatever their score."""
ENTITY_SLICES = ("entity_length", "in_dictionary", "in_title", "seen_in_training", "script", "emotion")
YES, NO = "yes", "no"


@dataclass(frozen=True)
class KnownNames:
    """Names, as match keys, that the run knew before it saw the article."""

    dictionary: Container[str]
    training: Container[str]


@dataclass(frozen=True)
class Facts:
    """The slices that an article and its gold entities belong to."""

    article: Mapping[str, str]
    """Value by slice; the topic is not known yet."""
    entities: tuple[Mapping[str, str], ...]
    """Value by slice, for each gold entity."""

    def values(self, topic: str) -> dict[str, str | list[str]]:
        """Return value by slice; for what belongs to entities, the sorted values of all of them."""
        of_entities = {
            name: sorted({facts[name] for facts in self.entities}) for name in ENTITY_SLICES if self.entities
        }
        return {"topic": topic, **self.article, **of_entities}


def facts_of(article: Article, outcome: Outcome, known: KnownNames) -> Facts:
    """Describe an article and its gold entities."""
    emotions = {entity.emotion for entity in outcome.gold}
    of_article = {
        "length": bin_name(len(article.title) + len(article.content), LENGTH_BOUNDS),
        "n_gold": str(len(outcome.gold)),
        "mixed_emotion": _yes(len(emotions) > 1),
    }
    of_entities = tuple(
        {
            "entity_length": bin_name(len(entity.name), NAME_BOUNDS),
            "in_dictionary": _yes(match_key(entity.name) in known.dictionary),
            "in_title": _yes(entity.name in article.title),
            "seen_in_training": _yes(match_key(entity.name) in known.training),
            "script": script(entity.name),
            "emotion": entity.emotion.value,
        }
        for entity in outcome.gold
    )
    return Facts(of_article, of_entities)


def bin_name(value: int, bounds: Sequence[int]) -> str:
    """Name the bin of a whole number: "<500", "500-999", ">=2000"."""
    if value < bounds[0]:
        return f"<{bounds[0]}"
    for low, high in pairwise(bounds):
        if value < high:
            return f"{low}-{high - 1}" if low < high - 1 else str(low)
    return f">={bounds[-1]}"


def script(name: str) -> str:
    """Return "cjk" for a name without Latin letters, "latin" for one without Chinese characters, else "mixed".

    Digits and marks count for neither; a name of nothing else is "latin".
    """
    has_han = any("\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff" for char in name)
    has_latin = any(char.isalpha() and char < "\u0250" for char in name)
    if has_han:
        return "mixed" if has_latin else "cjk"
    return "latin"


def slice_rows(
    facts: Sequence[Facts],
    topics: Sequence[str],
    outcomes: Sequence[Outcome],
    scores: NDArray[np.float64],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Score each slice.

    The figures of a slice are means over its articles. An article is in a slice of entities (``ENTITY_SLICES``) if
    one of its gold entities is; ``n_gold``, ``recall`` and ``emotion_accuracy`` (of the hits) are those of these
    entities alone.

    Args:
        facts: of each article.
        topics: of each article.
        outcomes: of each article.
        scores: entity F1 and entity+emotion F1 of the real pipeline: float64 (n_articles, 2).
        n_resamples: bootstrap resamples of a slice's articles.
        seed: of the bootstrap.

    Returns:
        A row each, by score; those of fewer than ``MIN_ARTICLES`` articles after the others.
    """
    members: dict[tuple[str, str], dict[int, list[int]]] = {}
    for index, (fact, topic) in enumerate(zip(facts, topics, strict=True)):
        everyone = list(range(len(fact.entities)))
        for name, value in {"topic": topic, **fact.article}.items():
            members.setdefault((name, value), {})[index] = everyone
        for number, entity in enumerate(fact.entities):
            for name, value in entity.items():
                members.setdefault((name, value), {}).setdefault(index, []).append(number)
    rows = []
    for (name, value), entities in members.items():
        own = scores[list(entities)]
        resampled = bootstrap_means(own, n_resamples=n_resamples, seed=seed)
        names = [outcomes[index].gold[number] for index, numbers in entities.items() for number in numbers]
        hits = [
            outcomes[index].emotions[entity.name] == entity.emotion
            for index, numbers in entities.items()
            for entity in (outcomes[index].gold[number] for number in numbers)
            if entity.name in outcomes[index].standing.hits
        ]
        rows.append(
            {
                "slice": name,
                "value": value,
                "n_articles": len(entities),
                "n_gold": len(names),
                **score_figures(own.mean(axis=0), resampled),
                "recall": ratio(len(hits), len(names)),
                "emotion_accuracy": ratio(sum(hits), len(hits)),
            }
        )
    return sorted(
        rows,
        key=lambda row: (row["n_articles"] < MIN_ARTICLES, row["score"]["value"], row["slice"], row["value"]),
    )


def _yes(claim: bool) -> str:
    return YES if claim else NO
