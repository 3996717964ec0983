"""Kind split: sentences of a text, or folds of articles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from pipeline.data.folds import assign_folds, group_articles
from pipeline.data.read import parse_article
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.fold_training import train_folds
from pipeline.text import split_sentences

from .framework import Adapter, Given, Tools, at_least, at_most, equals

Row = tuple[str, str]
"""An article's id and one of its candidates."""


@dataclass(frozen=True)
class Split:
    """Sentences of a text, or folds with what each model of them saw."""

    text: str = ""
    sentences: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    test_ids: tuple[str, ...] = ()
    n_folds: int = 0
    folds: Mapping[str, int] = field(default_factory=dict)
    shuffled: Mapping[str, int] = field(default_factory=dict)
    """The folds of the same articles in reverse order."""
    seen: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By fold held out: the ids that its model was fitted on."""
    applied: Mapping[int, frozenset[str]] = field(default_factory=dict)


def split(given: Given, tools: Tools) -> Split:
    """Split a text into sentences, or assign folds and fit a model that notes what it saw."""
    if "text" in given:
        text = given["text"]
        return Split(text=text, sentences=tuple(text[start:stop] for start, stop in split_sentences(text)))
    articles = [parse_article(row) for row in given.get("articles", ())]
    ids = tuple(article.news_id for article in articles) or tuple(given.first("train_ids", "ids"))
    groups = group_articles(articles) if articles else given.get("groups") or {news_id: news_id for news_id in ids}
    n_folds, seed = given.first("folds", "n_folds"), given.get("seed", 7)
    folds = assign_folds(groups, n_folds=n_folds, seed=seed)
    rows = [(news_id, f"candidate {number}") for number in range(3) for news_id in ids]
    fold_of = [folds[news_id] for news_id, _ in rows]
    answers = train_folds(_Noting(seed, "", None), rows, fold_of, folder=tools.tmp_path, workers=1, final=False)
    seen = {fold: frozenset(ids) for fold, ids, _ in answers}
    applied = {fold: frozenset(own for other, _, own in answers if other == fold) for fold in seen}
    backwards = group_articles(articles[::-1]) if articles else dict(reversed(groups.items()))
    shuffled = assign_folds(backwards, n_folds=n_folds, seed=seed)
    return Split(
        ids=ids,
        test_ids=tuple(given.get("test_ids", ())),
        n_folds=n_folds,
        folds=folds,
        shuffled=shuffled,
        seen=seen,
        applied=applied,
    )


@dataclass(frozen=True)
class _Learnt:
    """What a model has seen."""

    fold: int | None
    ids: list[str]

    def save(self, folder: Path) -> None:
        """Nothing is kept."""


@dataclass(frozen=True)
class _Noting(FoldTask[Row, _Learnt, tuple[int, list[str], str]]):
    """Answers each row with the fold of its model, what that model has seen, and the row's own article."""

    stage: ClassVar[str] = "noting"
    results_file: ClassVar[str] = "noted.json.gz"

    def fit(self, items: list[Row], fold: int | None) -> _Learnt:
        return _Learnt(fold, sorted({news_id for news_id, _ in items}))

    def predict(self, model: _Learnt, items: list[Row]) -> list[Any]:
        return [[model.fold, model.ids, news_id] for news_id, _ in items]

    def read(self, value: Any) -> tuple[int, list[str], str]:
        fold, ids, own = value
        return fold, ids, own


def _disjoint(found: Split) -> bool:
    """Tell whether each article is held out once, with all its rows, from the one model that did not see it."""
    held_out = list(found.applied.values())
    once = sum(map(len, held_out)) == len(set().union(*held_out))
    return once and all(not found.seen[fold] & found.applied[fold] for fold in found.applied)


def _sizes(found: Split) -> list[int]:
    return sorted(list(found.folds.values()).count(fold) for fold in range(found.n_folds))


def _one_sentence(found: Split, wanted: Any) -> None:
    for piece in wanted:
        assert piece in found.text
        assert any(piece in sentence for sentence in found.sentences), piece


def _together(found: Split, wanted: Any) -> None:
    for group in wanted:
        assert len({found.folds.get(news_id, news_id) for news_id in group}) == 1, group


def _apart(found: Split, wanted: Any) -> None:
    for left, right in (pair for group in wanted for pair in pairwise(group)):
        assert found.folds[left] != found.folds[right]


SPLIT = Adapter(
    split,
    {
        "lossless": equals(lambda found: "".join(found.sentences) == found.text),
        "sentences": equals(lambda found: list(found.sentences)),
        **dict.fromkeys(("n_sentences", "sentence_count"), equals(lambda found: len(found.sentences))),
        "min_sentences": at_least(lambda found: len(found.sentences)),
        "max_sentences": at_most(lambda found: len(found.sentences)),
        **dict.fromkeys(("must_not_split", "kept_whole"), _one_sentence),
        "folds_disjoint": equals(_disjoint),
        "folds_cover_train": equals(lambda found: frozenset().union(*found.applied.values()) == frozenset(found.ids)),
        "no_test_id_in_any_fold": equals(lambda found: not set(found.folds) & set(found.test_ids)),
        "every_fold_filled": equals(lambda found: set(found.folds.values()) == set(range(found.n_folds))),
        "fold_sizes": equals(_sizes),
        "max_size_difference": at_most(lambda found: _sizes(found)[-1] - _sizes(found)[0]),
        "same_fold": _together,
        "different_fold": _apart,
        "all_candidates_of_an_article_in_one_fold": equals(_disjoint),
        **dict.fromkeys(
            ("stable_under_shuffle", "order_independent"), equals(lambda found: found.folds == found.shuffled)
        ),
    },
)
