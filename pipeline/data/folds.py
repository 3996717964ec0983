"""Folds for every out-of-fold score: near-duplicate articles stay together, the same cut for all stages."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from pipeline.data.near_duplicates import NearDuplicates
from pipeline.errors import DataError
from pipeline.schema import Article


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


def known_articles(articles: Iterable[Article], others: Iterable[Article]) -> list[str]:
    """Return the newsIds of ``others`` that are among the articles, or near-duplicates of one of them."""
    found = NearDuplicates()
    for number, article in enumerate(articles):
        found.add(f"0/{number}", article.title, article.content)  # keys apart: equal ids alone join nothing
    others = list(others)
    for number, article in enumerate(others):
        found.add(f"1/{number}", article.title, article.content)
    groups = found.groups()
    n_articles = len(groups) - len(others)
    known = set(groups[:n_articles])
    return [article.news_id for article, group in zip(others, groups[n_articles:], strict=True) if group in known]


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


def _seeded_hash(name: str, seed: int) -> bytes:
    """Hash that is the same in every process, unlike ``hash``."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode()).digest()
