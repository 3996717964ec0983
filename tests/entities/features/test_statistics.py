"""Counts of names by fold: against naive counting, and never with the fold that is described."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.features import FoldedKeyCounts, KeyCounts
from pipeline.errors import ArtifactError

COUNTS = KeyCounts(n_articles=10, n_offered=40, n_gold=8, table={"松果": (4, 3), "云杉": (2, 0), "海棠": (1, 1)})
keys = st.lists(st.sampled_from(["松果", "云杉", "海棠", "nova 2", "桦"]), max_size=5)
articles = st.lists(st.tuples(st.integers(0, 3), keys, keys), max_size=12)


def folded(rows: list[tuple[int, list[str], list[str]]]) -> FoldedKeyCounts:
    counts = FoldedKeyCounts()
    for fold, offered, gold in rows:
        counts.add(fold, offered, gold)
    return counts


def naive(rows: list[tuple[int, list[str], list[str]]], left_out: int | None) -> KeyCounts:
    kept = [(set(offered), set(gold)) for fold, offered, gold in rows if fold != left_out]
    table = {}
    for key in {key for offered, gold in kept for key in offered | gold}:
        n_offered = sum(key in offered or key in gold for offered, gold in kept)
        n_gold = sum(key in gold for _, gold in kept)
        if n_offered > 1 or n_gold > 0:
            table[key] = (n_offered, n_gold)
    n_hits = sum(len(offered & gold) for offered, gold in kept)
    return KeyCounts(len(kept), sum(len(offered) for offered, _ in kept), n_hits, table)


@given(articles, st.none() | st.integers(0, 4))
def test_counts_agree_with_naive_counting(rows: list[tuple[int, list[str], list[str]]], fold: int | None) -> None:
    assert folded(rows).without(fold) == naive(rows, fold)


@given(articles, st.randoms(use_true_random=False))
def test_order_of_articles_is_immaterial(rows: list[tuple[int, list[str], list[str]]], rng: random.Random) -> None:
    shuffled = rng.sample(rows, len(rows))
    for fold in (None, 0, 3):
        assert folded(rows).without(fold) == folded(shuffled).without(fold)


@given(articles, keys, keys)
def test_what_the_own_fold_holds_changes_nothing(
    rows: list[tuple[int, list[str], list[str]]], offered: list[str], gold: list[str]
) -> None:
    others = [row for row in rows if row[0] != 2]
    assert folded([*rows, (2, offered, gold)]).without(2) == folded(others).without(2)


def test_worked_by_hand() -> None:
    counts = folded([(0, ["松果", "云杉"], ["松果"]), (1, ["松果"], []), (1, ["云杉"], ["海棠"]), (2, ["桦"], [])])
    assert counts.without(0) == KeyCounts(3, 3, 0, {"海棠": (1, 1)})
    assert counts.without(None) == KeyCounts(4, 5, 1, {"松果": (2, 1), "云杉": (2, 0), "海棠": (1, 1)})


def test_lookup() -> None:
    assert COUNTS.lookup(["云杉", "无", "松果"]).tolist() == [[2, 0], [0, 0], [4, 3]]
    assert COUNTS.lookup([]).shape == (0, 2)


def rates(counts: KeyCounts, keys: list[str], smoothing: float) -> np.ndarray:
    return counts.shrunk(counts.lookup(keys), smoothing)


def test_hit_rates_worked_by_hand() -> None:
    prior = 8 / 40
    assert COUNTS.prior == prior
    smooth = rates(COUNTS, ["松果", "云杉", "海棠", "无"], smoothing=5)
    assert smooth == pytest.approx([(3 + 5 * prior) / 9, 5 * prior / 7, (1 + 5 * prior) / 6, prior])
    plain = rates(COUNTS, ["松果", "云杉", "海棠", "无"], smoothing=0)
    assert plain == pytest.approx([3 / 4, 0, 1, prior])
    assert rates(COUNTS, [], smoothing=5).shape == (0,)


def test_no_articles_have_no_prior() -> None:
    empty = FoldedKeyCounts().without(None)
    assert empty == KeyCounts(0, 0, 0, {})
    assert rates(empty, ["松果"], smoothing=0).tolist() == [0.0]


@given(articles, st.floats(0, 100))
def test_hit_rates_are_shares(rows: list[tuple[int, list[str], list[str]]], smoothing: float) -> None:
    counts = folded(rows).without(0)
    shares = rates(counts, ["松果", "云杉", "海棠", "nova 2", "桦", "无"], smoothing)
    assert np.isfinite(shares).all()
    assert ((shares >= 0) & (shares <= 1)).all()


@given(articles)
def test_what_is_stored_describes_like_what_was_trained_on(rows: list[tuple[int, list[str], list[str]]]) -> None:
    counts = folded(rows).without(None)
    stored = json.loads(json.dumps(counts.to_dict(), ensure_ascii=False))
    assert KeyCounts.from_dict(stored) == counts


@pytest.mark.parametrize("name", ["n_articles", "n_offered", "n_gold", "table"])
@pytest.mark.parametrize("value", [None, "3", 1.5])
def test_damaged_counts_are_refused(name: str, value: object) -> None:
    with pytest.raises(ArtifactError, match="key counts: want n_articles, n_offered, n_gold and table"):
        KeyCounts.from_dict(COUNTS.to_dict() | {name: value})
