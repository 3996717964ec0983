"""How many candidates are chosen, and which; the tuned rule against the metric itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.candidates import bare_key
from pipeline.entities.rerank import NumberRule, choose, distinct, ranking
from pipeline.entities.rerank.choose import FLOORS, SHARES, tune_rule
from pipeline.metric import entity_f1

KEYS = ["松果", "《松果》", "松 果", "云杉", "“云杉”", "海棠", "nova 2", "nova2", "桦"]
probabilities = st.sampled_from([0.0, 0.04, 0.1, 0.25, 0.5, 0.5, 0.9, 1.0])
rules = st.builds(NumberRule, st.sampled_from(FLOORS.tolist()), st.sampled_from(SHARES.tolist()), st.integers(1, 3))
rows = st.lists(st.sampled_from(KEYS), unique=True, max_size=len(KEYS)).flatmap(
    lambda keys: st.tuples(
        st.just(keys),
        st.lists(probabilities, min_size=len(keys), max_size=len(keys)).map(np.array),
        st.lists(st.integers(0, 4), min_size=len(keys), max_size=len(keys)).map(np.array),
    )
)
Rows = tuple[list[str], np.ndarray, np.ndarray]


def chosen_keys(found: Rows, rule: NumberRule) -> list[str]:
    keys, probs, firsts = found
    return [keys[row] for row in choose(probs, keys, firsts, rule)]


@pytest.mark.parametrize(
    ("probs", "rule", "expected"),
    [
        ([0.9, 0.5, 0.4, 0.3], NumberRule(0.1, 0.0), 3),
        ([0.9, 0.5, 0.4, 0.3], NumberRule(0.1, 0.0, max_entities=2), 2),
        ([0.9, 0.5, 0.4, 0.3], NumberRule(0.45, 0.0), 2),
        ([0.9, 0.5, 0.4, 0.3], NumberRule(0.5, 0.0), 2),
        ([0.9, 0.45, 0.4], NumberRule(0.0, 0.5), 2),
        ([0.9, 0.44, 0.4], NumberRule(0.0, 0.5), 1),
        ([0.01, 0.001], NumberRule(0.5, 0.9), 1),
        ([0.0, 0.0], NumberRule(0.0, 0.0), 2),
        ([], NumberRule(0.0, 0.0), 0),
    ],
)
def test_worked_by_hand(probs: list[float], rule: NumberRule, expected: int) -> None:
    keys = ["松果", "云杉", "海棠", "桦"][: len(probs)]
    assert choose(np.array(probs), keys, np.arange(len(probs)), rule) == list(range(expected))


def test_spellings_of_one_name_count_once() -> None:
    keys = ["《松果》", "松果", "云杉"]
    assert choose(np.array([0.9, 0.8, 0.7]), keys, np.arange(3), NumberRule(0.1, 0.0)) == [0, 2]


def test_ties_go_to_the_earlier_mention_and_then_to_the_name() -> None:
    probs = np.full(3, 0.5)
    assert ranking(probs, ["b", "c", "a"], np.array([7, 3, 7])) == [1, 2, 0]


@given(rows)
def test_distinct_keeps_the_first_spelling_of_each_name(found: Rows) -> None:
    keys = found[0]
    kept = list(distinct(range(len(keys)), keys))
    assert kept == [row for row, key in enumerate(keys) if bare_key(key) not in map(bare_key, keys[:row])]


@given(rows, rules)
def test_choice_agrees_with_a_naive_one(found: Rows, rule: NumberRule) -> None:
    keys, probs, firsts = found
    order = sorted(range(len(keys)), key=lambda row: (-probs[row], firsts[row], keys[row]))
    best_spellings = [
        row for n, row in enumerate(order) if bare_key(keys[row]) not in {bare_key(keys[o]) for o in order[:n]}
    ]
    expected = []
    for n, row in enumerate(best_spellings):
        needed = max(rule.floor, rule.share_of_top * probs[best_spellings[0]])
        if n == 0 or (n < rule.max_entities and probs[row] >= needed and len(expected) == n):
            expected.append(row)
    assert choose(probs, keys, firsts, rule) == expected


@given(rows, rules)
def test_bounds(found: Rows, rule: NumberRule) -> None:
    chosen = chosen_keys(found, rule)
    assert bool(chosen) == bool(found[0])
    assert len(chosen) <= rule.max_entities
    assert len({bare_key(key) for key in chosen}) == len(chosen)


@given(rows, rules, st.randoms(use_true_random=False))
def test_order_of_rows_is_immaterial(found: Rows, rule: NumberRule, rng: random.Random) -> None:
    keys, probs, firsts = found
    order = rng.sample(range(len(keys)), len(keys))
    shuffled = ([keys[row] for row in order], probs[order], firsts[order])
    assert chosen_keys(shuffled, rule) == chosen_keys(found, rule)


@given(rows, rules)
def test_a_laxer_rule_only_adds(found: Rows, rule: NumberRule) -> None:
    chosen = chosen_keys(found, rule)
    laxer = NumberRule(rule.floor / 2, rule.share_of_top / 2, 3)
    assert chosen_keys(found, laxer)[: len(chosen)] == chosen


# --- tuning

Articles = list[tuple[Rows, set[str]]]


def random_articles(n: int, seed: int) -> Articles:
    """Articles with a signal, ties, spellings, gold that is no candidate, and some without candidates or gold."""
    rng = np.random.default_rng(seed)
    articles: Articles = []
    for _ in range(n):
        keys = [KEYS[index] for index in rng.permutation(len(KEYS))[: rng.integers(0, len(KEYS) + 1)]]
        gold = {KEYS[index] for index in rng.permutation(len(KEYS))[: rng.integers(0, 4)]} | {"不在此"} & set(
            rng.choice(["不在此", ""], 1)
        )
        probs = np.array([np.round(np.clip(rng.normal(0.5 if key in gold else 0.2, 0.2), 0, 1), 1) for key in keys])
        articles.append(((keys, probs, rng.integers(0, 4, len(keys))), gold))
    return articles


def columns(
    articles: Articles,
) -> tuple[list[np.ndarray], list[np.ndarray], list[int], list[list[str]], list[np.ndarray]]:
    labels = [np.array([key in gold for key in found[0]], dtype=np.float32) for found, gold in articles]
    return (
        [found[1] for found, _ in articles],
        labels,
        [len(gold) for _, gold in articles],
        [found[0] for found, _ in articles],
        [found[2] for found, _ in articles],
    )


def mean_f1(articles: Articles, rule: NumberRule) -> float:
    return float(np.mean([entity_f1(gold, chosen_keys(found, rule)) for found, gold in articles]))


@pytest.mark.parametrize("max_entities", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_reported_f1_is_that_of_choose_and_the_metric(seed: int, max_entities: int) -> None:
    articles = random_articles(30, seed)
    rule, f1 = tune_rule(*columns(articles), max_entities=max_entities)
    assert rule.max_entities == max_entities
    assert f1 == pytest.approx(mean_f1(articles, rule), abs=1e-12)


def test_the_rule_is_the_best_of_the_smoothed_grid() -> None:
    articles = random_articles(25, 9)
    rule, _ = tune_rule(*columns(articles), max_entities=3)
    grid = np.array([[mean_f1(articles, NumberRule(floor, share, 3)) for share in SHARES] for floor in FLOORS])
    n_floors, n_shares = grid.shape
    best, best_at = -1.0, (0, 0)
    for i in range(n_floors):
        for j in range(n_shares):
            around = [
                grid[min(max(i + di, 0), n_floors - 1), min(max(j + dj, 0), n_shares - 1)]
                for di in (-1, 0, 1)
                for dj in (-1, 0, 1)
            ]
            if sum(around) > best + 1e-9:
                best, best_at = sum(around), (i, j)
    i, j = np.argwhere(rule.floor == FLOORS)[0, 0], np.argwhere(rule.share_of_top == SHARES)[0, 0]
    neighbours = [
        grid[min(max(i + di, 0), n_floors - 1), min(max(j + dj, 0), n_shares - 1)]
        for di in (-1, 0, 1)
        for dj in (-1, 0, 1)
    ]
    assert sum(neighbours) == pytest.approx(best, abs=1e-9), best_at


def test_a_clear_gap_is_found() -> None:
    """Gold at 0.6 and above, the rest at 0.1 and below: the threshold lies between."""
    keys = ["松果", "云杉", "海棠", "桦"]
    articles: Articles = [((keys, np.array([0.9, 0.6, 0.1, 0.05]), np.arange(4)), {"松果", "云杉"}) for _ in range(5)]
    articles += [((keys, np.array([0.6, 0.1, 0.1, 0.1]), np.arange(4)), {"松果"}) for _ in range(5)]
    rule, f1 = tune_rule(*columns(articles), max_entities=3)
    assert f1 == 1.0
    assert max(rule.floor, rule.share_of_top * 0.6) > 0.1
    assert max(rule.floor, rule.share_of_top * 0.9) <= 0.6


def test_articles_without_candidates_or_gold() -> None:
    nothing: Rows = ([], np.zeros(0), np.zeros(0, np.int64))
    one: Rows = (["松果"], np.array([0.5]), np.array([0]))
    articles: Articles = [(nothing, set()), (nothing, {"松果"}), (one, set()), (one, {"松果"})]
    assert tune_rule(*columns(articles), max_entities=3)[1] == pytest.approx((1 + 0 + 0 + 1) / 4)
