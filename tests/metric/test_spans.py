"""Figures of spans, checked against seqeval's strict mode and by hand."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB2, IOBES

from pipeline.data.formats.tagging import Notation
from pipeline.metric import Averages, Counts, TagScores, score_spans, span_f1
from pipeline.text.spans import Span

SCHEMES = {"BI": IOB2, "BIES": IOBES}


@st.composite
def tagged_rows(draw: st.DrawFn) -> tuple[Notation, list[list[str]], list[list[str]]]:
    letters = draw(st.sampled_from(sorted(SCHEMES)))
    tag = st.sampled_from(["O", *(f"{letter}-{label}" for letter in letters for label in ("人", "公司"))])
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    gold, pred = ([draw(st.lists(tag, min_size=n, max_size=n)) for n in lengths] for _ in range(2))
    return Notation(letters), gold, pred


def scored(notation: Notation, gold: list[list[str]], pred: list[list[str]]) -> TagScores:
    return score_spans(*([notation.spans(tags)[0] for tags in rows] for rows in (gold, pred)))


@given(tagged_rows())
def test_figures_are_those_of_seqeval_in_strict_mode(case: tuple[Notation, list[list[str]], list[list[str]]]) -> None:
    notation, gold, pred = case
    scores = scored(notation, gold, pred)
    assume(scores.types)  # where nothing is marked nor found seqeval has no figure
    options = {"scheme": SCHEMES[notation.letters], "zero_division": 0}
    for average, ours in (("micro", scores.micro), ("macro", scores.macro)):
        theirs = precision_recall_fscore_support(gold, pred, average=average, **options)[:3]
        assert theirs == pytest.approx((ours.precision, ours.recall, ours.f1)), average
    precision, recall, f1, support = precision_recall_fscore_support(gold, pred, average=None, **options)
    counts = list(scores.types.values())
    assert precision.tolist() == pytest.approx([count.precision for count in counts])
    assert recall.tolist() == pytest.approx([count.recall for count in counts])
    assert f1.tolist() == pytest.approx([count.f1 for count in counts])
    assert support.tolist() == [count.n_gold for count in counts]


@given(tagged_rows())
def test_swapping_gold_and_prediction_swaps_precision_and_recall(
    case: tuple[Notation, list[list[str]], list[list[str]]],
) -> None:
    notation, gold, pred = case
    one, other = scored(notation, gold, pred), scored(notation, pred, gold)
    assert (one.micro.precision, one.macro.recall) == (other.micro.recall, other.macro.precision)
    assert one.micro.f1 == other.micro.f1


def test_counts_by_hand() -> None:
    gold = [[Span(0, 2, "A"), Span(3, 4, "B")], [], [Span(0, 1, "A")]]
    pred = [[Span(0, 2, "A"), Span(3, 4, "A")], [Span(1, 2, "C")], []]
    scores = score_spans(gold, pred)
    counts = {label: (count.hits, count.n_pred, count.n_gold) for label, count in scores.types.items()}
    assert counts == {"A": (1, 2, 2), "B": (0, 0, 1), "C": (0, 1, 0)}
    assert scores.micro.f1 == pytest.approx(2 / 6)
    assert scores.macro.f1 == pytest.approx(0.5 / 3)
    assert scores.tag_accuracy is None


def test_nothing_to_find_and_nothing_found_has_no_figure() -> None:
    scores = score_spans([[], []], [[], []])
    assert (scores.micro, scores.macro, scores.n_rows) == (Counts(), Averages(None, None, None), 2)
    nothing = {"hits": 0, "n_pred": 0, "n_gold": 0, "precision": None, "recall": None, "f1": None}
    assert scores.to_dict()["micro"] == nothing
    assert span_f1([[]], [[]]) is None


def test_micro_f1_counts_exact_spans_over_all_rows() -> None:
    gold = [[Span(0, 2)], [Span(0, 1), Span(3, 4)]]
    assert span_f1(gold, [[Span(0, 2)], []]) == pytest.approx(2 * 1 / 4)
    assert span_f1(gold, [[Span(0, 2), Span(0, 2)], []]) == pytest.approx(2 * 1 / 4)
    assert span_f1(gold, [[Span(0, 2, "x")], []]) == 0
    assert span_f1(gold, [[(0, 2, "")], []]) == pytest.approx(2 * 1 / 4)


def test_rows_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        score_spans([[], []], [[]])
    with pytest.raises(ValueError, match="shorter"):
        score_spans([], [], tags=[(["A", "B"], ["A"])])


def test_tag_accuracy_counts_tokens_not_rows() -> None:
    scores = score_spans([[]], [[]], tags=[(["NN", "VV", "O"], ["NN", "NN", "O"]), (["NN"], ["NN"])])
    assert scores.tag_accuracy == pytest.approx(3 / 4)
    assert scores.to_dict()["tag_accuracy"] == 0.75
