from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.taggers.windows import cut_windows, draw_windows, join_windows, most_central
from pipeline.text.spans import ScoredSpan

sizes = st.integers(4, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


@given(st.integers(0, 500), sizes)
def test_windows_cover_every_token_and_hold_every_short_span_whole(n_tokens: int, size: tuple[int, int]) -> None:
    window_tokens, overlap = size
    windows = cut_windows(n_tokens, size=window_tokens, overlap=overlap)
    assert {token for window in windows for token in range(*window)} == set(range(n_tokens))
    assert all(last - first <= window_tokens for first, last in windows)
    assert len({last - first for first, last in windows}) <= 1
    for length in range(1, overlap + 2):
        for first in range(n_tokens - length + 1):
            assert any(start <= first and first + length <= stop for start, stop in windows)


@given(st.integers(1, 500), sizes)
def test_windows_are_as_few_as_can_be(n_tokens: int, size: tuple[int, int]) -> None:
    window_tokens, overlap = size
    count = len(cut_windows(n_tokens, size=window_tokens, overlap=overlap))
    assert count == 1 or (count - 1) * (window_tokens - overlap) + overlap < n_tokens


def test_cut_windows_refuses_an_overlap_as_long_as_the_window() -> None:
    with pytest.raises(ValueError, match="cannot share"):
        cut_windows(10, size=4, overlap=4)


def test_a_span_belongs_to_the_window_that_shows_most_around_it() -> None:
    windows = [(0, 10), (6, 16), (12, 22)]
    assert [most_central(windows, first, first + 1) for first in (0, 6, 7, 8, 13, 14, 21)] == [0, 0, 0, 1, 1, 2, 2]
    assert most_central([(0, 10)], 0, 10) == 0
    with pytest.raises(ValueError, match="empty"):
        most_central(windows, 5, 20)


def test_each_span_is_kept_once_from_its_own_window() -> None:
    windows = [(0, 10), (6, 16)]
    found = [[ScoredSpan(6, 8, 0.9), ScoredSpan(8, 10, 0.5)], [ScoredSpan(0, 2, 0.1), ScoredSpan(2, 4, 0.7)]]
    assert join_windows(windows, found) == [ScoredSpan(6, 8, 0.9), ScoredSpan(8, 10, 0.7)]


def test_a_span_cut_by_an_edge_gives_way_to_the_whole_one() -> None:
    cut, whole = [ScoredSpan(8, 10, 0.8)], [ScoredSpan(2, 6, 0.9)]
    assert join_windows([(0, 10), (6, 16)], [cut, whole]) == [ScoredSpan(8, 12, 0.9)]


@given(st.integers(1, 40), st.integers(0, 100), st.integers(0, 99))
def test_drawing_keeps_the_first_window_and_the_budget(n_windows: int, budget: int, seed: int) -> None:
    windows = [(index * 10, index * 10 + 10) for index in range(n_windows)]
    drawn = draw_windows(windows, [1.0] * n_windows, budget=budget, rng=np.random.default_rng(seed))
    assert drawn[0] == 0
    assert all(first < second for first, second in itertools.pairwise(drawn))
    assert len(drawn) == (min(n_windows, max(1, budget // 10)) if budget else n_windows)


def test_windows_with_mentions_are_drawn_more_often() -> None:
    windows = [(index * 10, index * 10 + 10) for index in range(5)]
    rng = np.random.default_rng(1)
    drawn = [draw_windows(windows, [1, 1, 9, 1, 1], budget=20, rng=rng)[1] for _ in range(200)]
    assert drawn.count(2) > 120
    assert len(set(drawn)) == 4
