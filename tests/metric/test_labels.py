"""Accuracy, confusion and F1 of labels, by hand and against scikit-learn."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from pipeline.metric import LabelScores

LABELS = ["a", "b", "c"]
pairs_of_labels = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30)


def test_scores_a_hand_worked_case() -> None:
    # a: 1 hit, 2 given, 1 gold; b: 1 hit, 1 given, 2 gold; c: never
    found = LabelScores.of(["a", "a", "b"], ["a", "b", "b"], LABELS)
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.f1 == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3), "c": None}
    assert found.macro_f1 == pytest.approx(2 / 3)
    assert found.confusion.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_a_label_that_is_only_given_or_only_wanted_counts_as_zero() -> None:
    assert LabelScores.of(["a", "c"], ["a", "b"], LABELS).f1 == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert LabelScores.of(["a", "c"], ["a", "b"], LABELS).macro_f1 == pytest.approx(1 / 3)


@given(pairs_of_labels)
def test_macro_f1_equals_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    answers, gold = [answer for answer, _ in pairs], [label for _, label in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = f1_score(gold, answers, average="macro")
    assert LabelScores.of(answers, gold, LABELS).macro_f1 == pytest.approx(wanted)


@given(pairs_of_labels)
def test_every_figure_equals_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    answers, gold = [answer for answer, _ in pairs], [label for _, label in pairs]
    found = LabelScores.of(answers, gold, LABELS)
    assert found.accuracy == pytest.approx(accuracy_score(gold, answers))
    assert found.confusion.tolist() == confusion_matrix(gold, answers, labels=LABELS).tolist()
    figures = precision_recall_fscore_support(gold, answers, labels=LABELS, zero_division=0)
    for counts, precision, recall, f1, support in zip(found.per_label.values(), *figures, strict=True):
        assert (counts.precision is None) == (counts.recall is None) == (counts.f1 is None)
        assert (counts.precision or 0, counts.recall or 0, counts.f1 or 0) == pytest.approx((precision, recall, f1))
        assert counts.n_gold == support


@given(pairs_of_labels, st.permutations([*LABELS, "d", "e"]))
def test_labels_that_never_occur_change_nothing(pairs: list[tuple[str, str]], labels: list[str]) -> None:
    answers, gold = [answer for answer, _ in pairs], [label for _, label in pairs]
    found, wider = LabelScores.of(answers, gold, LABELS), LabelScores.of(answers, gold, labels)
    assert wider.macro_f1 == pytest.approx(found.macro_f1)
    assert wider.accuracy == found.accuracy
    assert wider.f1 == {**found.f1, "d": None, "e": None}


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        LabelScores.of(["a"], ["a", "b"], LABELS)
    with pytest.raises(KeyError, match="x"):
        LabelScores.of(["x"], ["a"], LABELS)
