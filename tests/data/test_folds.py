"""Folds: groups stay whole, the cut is stable and balanced, out-of-fold results line up."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.folds import assign_folds, group_articles
from pipeline.data.read import iter_articles
from pipeline.errors import DataError
from pipeline.schema import Article
from tests.support.paths import ROOT

groups_strategy = st.dictionaries(st.text(max_size=4), st.sampled_from("abcdefghij"), min_size=1, max_size=40)


def article(news_id: str, title: str, content: str) -> Article:
    return Article(news_id, title, content)


def test_group_articles_names_a_group_by_its_smallest_id() -> None:
    groups = group_articles(
        [
            article("h2", "同一篇", "银杏书店开业。"),
            article("h1", "同一篇", "银杏书店开业。"),
            article("h3", "第3篇", "青禾3号开通。"),
        ]
    )
    assert groups == {"h2": "h1", "h1": "h1", "h3": "h3"}


def test_near_duplicates_share_a_fold() -> None:
    articles = [article(f"h{n}", f"第{n}篇", f"青禾{n}号开通。") for n in range(3, 11)]
    copies = [article(news_id, "同一篇", "银杏书店开业。") for news_id in ("h1", "h2")]
    folds = assign_folds(group_articles([*copies, *articles]), n_folds=5, seed=1)
    assert folds["h1"] == folds["h2"]
    assert Counter(folds.values()) == dict.fromkeys(range(5), 2)


@given(groups=groups_strategy, n_folds=st.integers(2, 6), seed=st.integers(0, 2**31 - 1))
def test_assign_folds_covers_every_article_and_fold_and_splits_no_group(
    groups: dict[str, str], n_folds: int, seed: int
) -> None:
    n_groups = len(set(groups.values()))
    if n_groups < n_folds:
        with pytest.raises(DataError, match=f"{n_groups} groups of near-duplicates are too few for {n_folds} folds"):
            assign_folds(groups, n_folds=n_folds, seed=seed)
        return
    folds = assign_folds(groups, n_folds=n_folds, seed=seed)
    assert folds.keys() == groups.keys()
    assert set(folds.values()) == set(range(n_folds))
    assert len({(groups[news_id], fold) for news_id, fold in folds.items()}) == n_groups
    sizes = Counter(folds.values())
    assert max(sizes.values()) - min(sizes.values()) <= max(Counter(groups.values()).values())


@given(groups=groups_strategy, data=st.data())
def test_assign_folds_ignores_the_order_of_rows(groups: dict[str, str], data: st.DataObject) -> None:
    if len(set(groups.values())) < 2:
        return
    shuffled = dict(data.draw(st.permutations(list(groups.items()))))
    assert assign_folds(shuffled, n_folds=2, seed=7) == assign_folds(groups, n_folds=2, seed=7)


def test_assign_folds_depends_on_the_seed() -> None:
    groups = {f"a{number}": f"a{number}" for number in range(50)}
    cuts = [assign_folds(groups, n_folds=5, seed=seed) for seed in (1, 2, 1)]
    assert cuts[0] == cuts[2] != cuts[1]
    assert all(set(Counter(cut.values()).values()) == {10} for cut in cuts)


def test_assign_folds_refuses_a_single_fold() -> None:
    with pytest.raises(ValueError, match="at least 2 folds, got 1"):
        assign_folds({"a": "a"}, n_folds=1, seed=7)


def test_folds_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from pathlib import Path; from pipeline.data.folds import *; from pipeline.data.read import iter_articles; "
        "print(assign_folds(group_articles(iter_articles(Path('data/sample/dev.jsonl'))), n_folds=5, seed=7))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "123")
    }
    articles = iter_articles(ROOT / "data" / "sample" / "dev.jsonl")
    assert outputs == {f"{assign_folds(group_articles(articles), n_folds=5, seed=7)}\n".encode()}
