"""The best rival of each mention: as every pair compared says, in time and memory that grow with their number."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.tagging.spans import _rivals

spans = st.tuples(st.integers(0, 25), st.integers(1, 12)).map(lambda span: (span[0], sum(span)))
probs = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])


def by_all_pairs(mentions: list[tuple[int, int]], prob_of: dict[tuple[int, int], float]) -> list[float]:
    return [
        max(
            (prob for (first, last), prob in prob_of.items() if first < b and last > a and (first, last) != (a, b)),
            default=0.0,
        )
        for a, b in mentions
    ]


def rivals(mentions: list[tuple[int, int]], prob_of: dict[tuple[int, int], float]) -> list[float]:
    starts, stops = np.array(mentions, dtype=np.int64).reshape(-1, 2).T
    return _rivals(starts, stops, prob_of).tolist()


@given(st.lists(spans, max_size=12), st.dictionaries(spans, probs, max_size=20))
def test_rivals_are_those_of_all_pairs(mentions: list[tuple[int, int]], prob_of: dict[tuple[int, int], float]) -> None:
    assert rivals(mentions, prob_of) == by_all_pairs(mentions, prob_of)
    assert rivals(list(prob_of), prob_of) == by_all_pairs(list(prob_of), prob_of)


def drawn(n: int) -> tuple[list[tuple[int, int]], dict[tuple[int, int], float]]:
    """Return mentions and spans all over a text of ``n`` characters, one span as long as the text among them."""
    rng = np.random.default_rng(3)
    mentions = [(place, place + 2) for place in range(n)]
    prob_of = {(place, place + int(rng.integers(1, 9))): float(rng.random()) for place in range(n)}
    return mentions, {**prob_of, (0, n): 0.3}


def test_a_long_article_takes_no_more_than_its_share() -> None:
    times = []
    for n in (10_000, 20_000, 40_000):
        mentions, prob_of = drawn(n)
        start = time.process_time()
        rivals(mentions, prob_of)
        times.append(time.process_time() - start)
    assert times[2] < 9 * times[0] + 0.1
    mentions, prob_of = drawn(50_000)
    tracemalloc.start()
    try:
        rivals(mentions, prob_of)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6  # bytes; every pair would take over a thousand million
