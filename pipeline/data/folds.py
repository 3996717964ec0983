"""Folds for every out-of-fold score: near-duplicate articles stay together, the same cut for all stages."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from joblib import Parallel, delayed
from tqdm import tqdm

from pipeline.data.near_duplicates import NearDuplicates
from pipeline.errors import DataError
from pipeline.runtime.parallel import deaf_children
from pipeline.schema import Article

Item = TypeVar("Item")
Model = TypeVar("Model")
Result = TypeVar("Result")


def group_articles(articles: Iterable[Article]) -> dict[str, str]:
    """Map each newsId to its group: the smallest newsId among the article's near-duplicates.

    The groups do not depend on the order of the articles.
    """
    news_ids: list[str] = []
    found = NearDuplicates()
    for article in articles:
        news_ids.append(article.news_id)
        found.add(article.news_id, article.title, article.content)
    return {news_id: news_ids[group] for news_id, group in zip(news_ids, found.groups(), strict=True)}


def assign_folds(groups: Mapping[str, str], *, n_folds: int, seed: int) -> dict[str, int]:
    """Map each newsId to one of ``n_folds`` folds of about equal size; a group is never split.

    The folds depend on the ids, the groups and the seed alone, not on the order of ``groups``.

    Args:
        groups: newsId to group, as from ``group_articles``.
        n_folds: every fold gets at least one group.
        seed: picks another cut of the same balance.

    Raises:
        DataError: there are fewer groups than folds.
    """
    sizes = Counter(groups.values())
    if n_folds < 2:
        raise ValueError(f"out-of-fold scores need at least 2 folds, got {n_folds}")
    if len(sizes) < n_folds:
        raise DataError(
            f"{len(groups)} articles in {len(sizes)} groups of near-duplicates are too few for {n_folds} folds",
            hint="give more articles, or lower n_folds",
        )
    fold_sizes = [0] * n_folds
    fold_of_group: dict[str, int] = {}
    for group in sorted(sizes, key=lambda name: (-sizes[name], _seeded_hash(name, seed), name)):
        fold = fold_sizes.index(min(fold_sizes))  # large groups come first, so small ones even out
        fold_of_group[group] = fold
        fold_sizes[fold] += sizes[group]
    return {news_id: fold_of_group[group] for news_id, group in groups.items()}


@dataclass(frozen=True)
class OutOfFold(Generic[Model, Result]):
    """What ``out_of_fold`` gives back."""

    results: list[Result]
    """One for each item, in their order, from the model that did not see the item's fold."""
    models: tuple[Model, ...]
    """One for each fold, where they were asked for."""


def out_of_fold(
    items: Sequence[Item],
    folds: Sequence[int],
    *,
    fit: Callable[[list[Item], int], Model],
    apply: Callable[[Model, list[Item]], Sequence[Result]],
    workers: int = 1,
    keep_models: bool = False,
    description: str = "folds",
) -> OutOfFold[Model, Result]:
    """Fit on all folds but one and apply to that one, for each fold in turn.

    Args:
        items: articles, or anything else that belongs to one article.
        folds: the fold of each item.
        fit: gets the items of the other folds and the number of the fold held out; returns a model.
        apply: gets the model and the items held out; returns one result for each, in order.
        workers: folds worked on at a time, each in a process of its own if more than one. The results
            are the same for any number, provided that ``fit`` draws no unseeded random numbers.
        keep_models: whether the models are returned (with several workers they must be picklable).
        description: label of the progress bar.

    Raises:
        ValueError: ``folds`` does not fit ``items`` or names a single fold, or ``apply`` returned too few or
            too many results.
    """
    if len(folds) != len(items):
        raise ValueError(f"{len(items)} items but {len(folds)} folds")
    names = sorted(set(folds))
    if len(names) < 2:
        raise ValueError(f"out-of-fold scores need at least 2 folds, got {names}")
    held_out = {name: [index for index, fold in enumerate(folds) if fold == name] for name in names}

    def run(name: int) -> tuple[Model | None, Sequence[Result]]:
        model = fit([item for item, fold in zip(items, folds, strict=True) if fold != name], name)
        results = apply(model, [items[index] for index in held_out[name]])
        return (model if keep_models else None), results

    with deaf_children():
        jobs = Parallel(n_jobs=min(workers, len(names)), return_as="generator")(delayed(run)(name) for name in names)
    models: list[Model] = []
    by_index: dict[int, Result] = {}
    for name, (model, results) in zip(names, tqdm(jobs, desc=description, total=len(names), disable=None), strict=True):
        if len(results) != len(held_out[name]):
            raise ValueError(f"fold {name}: {len(results)} results for {len(held_out[name])} items")
        by_index.update(zip(held_out[name], results, strict=True))
        if keep_models:
            models.append(model)
    return OutOfFold([by_index[index] for index in range(len(items))], tuple(models))


def _seeded_hash(name: str, seed: int) -> bytes:
    """Hash that is the same in every process, unlike ``hash``."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode()).digest()
