"""Partial figures of spans: worked by hand, and against loops over every pairing."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.metric import Outcomes, score_overlap, score_spans
from pipeline.text.spans import Span

GOLD = [Span(0, 3, "PER"), Span(6, 9, "LOC"), Span(12, 16, "ORG"), Span(20, 22, "PER"), Span(30, 31, "ORG")]
PRED = [Span(0, 3, "PER"), Span(6, 9, "ORG"), Span(12, 15, "ORG"), Span(21, 24, "LOC"), Span(40, 42, "ORG")]
"""All right; type wrong; end wrong; end and type wrong; missed and spurious."""


def test_the_four_figures_by_hand() -> None:
    assert score_overlap([GOLD], [PRED]) == {
        "strict": Outcomes(correct=1, incorrect=3, missed=1, spurious=1),
        "exact": Outcomes(correct=2, incorrect=2, missed=1, spurious=1),
        "partial": Outcomes(correct=2, partial=2, missed=1, spurious=1),
        "type": Outcomes(correct=2, incorrect=2, missed=1, spurious=1),
    }
    partial = score_overlap([GOLD], [PRED])["partial"]
    assert (partial.precision, partial.recall, partial.f1) == (3 / 5, 3 / 5, pytest.approx(3 / 5))
    assert partial.to_dict()["f1"] == 0.6


def test_each_gold_span_has_one_partner_the_same_ends_first() -> None:
    scores = score_overlap([[Span(0, 4, "A")]], [[Span(0, 3, "A"), Span(0, 4, "B"), Span(3, 4, "A")]])
    assert scores["exact"] == Outcomes(correct=1, spurious=2)
    assert scores["type"] == Outcomes(incorrect=1, spurious=2)


def test_short_predictions_of_every_span_are_half_right() -> None:
    scores = score_overlap([[Span(0, 3, "A")], [Span(2, 4, "B")]], [[Span(0, 2, "A")], [Span(2, 3, "B")]])
    assert [scores[name].f1 for name in ("strict", "exact", "partial", "type")] == [0, 0, 0.5, 1]


def test_nothing_marked_nor_found_has_no_figure() -> None:
    assert score_overlap([[]], [[]])["partial"].f1 is None
    assert score_overlap([[Span(0, 1)]], [[]])["partial"].precision == 0
    with pytest.raises(ValueError, match="shorter"):
        score_overlap([[], []], [[]])


spans = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from("AB")).map(
        lambda part: Span(part[0], part[0] + part[1], part[2])
    ),
    max_size=4,
    unique=True,
)


@given(spans, spans)
def test_strict_is_that_of_the_table_and_no_pairing_is_better_by_ends(gold: list[Span], pred: list[Span]) -> None:
    scores = score_overlap([gold], [pred])
    strict, micro = scores["strict"], score_spans([gold], [pred]).micro
    assert (strict.precision, strict.recall, strict.f1) == (micro.precision, micro.recall, micro.f1)
    for outcomes in scores.values():
        assert outcomes.correct + outcomes.incorrect + outcomes.partial + outcomes.missed == len(gold)
        assert outcomes.correct + outcomes.incorrect + outcomes.partial + outcomes.spurious == len(pred)
    short, long = sorted((gold, pred), key=len)
    best = max(
        sum(first[:2] == second[:2] for first, second in zip(short, order, strict=False))
        for order in permutations(long, len(short))
    )
    assert scores["exact"].correct == best
