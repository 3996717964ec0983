"""Which candidates the trees learn from: all gold ones, the hardest negatives, and a share of the others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.rerank.negatives import training_rows


def test_worked_by_hand() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.5, 3.0, 2.0])
    labels = np.array([0, 0, 1, 0, 0, 0])
    rows, counts = training_rows(scores, labels, [4, 2], n_hard=1, share=0.0, seed=0)
    assert rows.tolist() == [1, 2, 4]
    assert counts == [2, 1]


def test_ties_go_to_the_earlier_row() -> None:
    rows, _ = training_rows(np.zeros(5), np.array([0, 1, 0, 0, 0]), [5], n_hard=2, share=0.0, seed=0)
    assert rows.tolist() == [0, 1, 2]


articles = st.lists(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), max_size=12), min_size=1, max_size=6)


@given(articles, st.integers(0, 6), st.floats(0.0, 1.0), st.integers(0, 9))
def test_gold_and_hardest_stay_and_nothing_is_kept_twice(
    drawn: list[list[tuple[int, bool]]], n_hard: int, share: float, seed: int
) -> None:
    scores = np.array([score for article in drawn for score, _ in article], dtype=np.float64)
    labels = np.array([gold for article in drawn for _, gold in article], dtype=np.float32)
    rows, counts = training_rows(scores, labels, [len(part) for part in drawn], n_hard=n_hard, share=share, seed=seed)
    assert len(counts) == len(drawn)
    assert sum(counts) == len(rows)
    assert rows.tolist() == sorted(set(rows.tolist()))
    begin = 0
    for article, count in zip(drawn, counts, strict=True):
        inside = [row - begin for row in rows.tolist() if begin <= row < begin + len(article)]
        assert len(inside) == count
        assert {index for index, (_, gold) in enumerate(article) if gold} <= set(inside)
        left_out = [score for index, (score, _) in enumerate(article) if index not in inside]
        hard = sorted((article[index][0] for index in inside if not article[index][1]), reverse=True)[:n_hard]
        assert len(hard) == min(n_hard, sum(not gold for _, gold in article))
        assert all(score <= hard[-1] for score in left_out if hard)
        begin += len(article)


def test_the_share_of_the_others_is_kept() -> None:
    rng = np.random.default_rng(3)
    rows, counts = training_rows(rng.normal(size=20_000), np.zeros(20_000), [200] * 100, n_hard=20, share=0.1, seed=5)
    assert abs(len(rows) - (100 * 20 + 0.1 * 100 * 180)) < 160  # four standard deviations
    again, _ = training_rows(rng.normal(size=20_000), np.zeros(20_000), [200] * 100, n_hard=0, share=1.0, seed=5)
    assert len(again) == 20_000
    assert len(counts) == 100
