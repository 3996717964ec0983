"""Accuracy and F1 of labels, by hand and against scikit-learn."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from pipeline.standalone.heads.label_scores import LabelScores

LABELS = ["a", "b", "c"]


def test_scores_a_hand_worked_case() -> None:
    # a: 1 hit, 2 given, 1 gold; b: 1 hit, 1 given, 2 gold; c: never
    found = LabelScores.of(["a", "a", "b"], ["a", "b", "b"], LABELS)
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.f1 == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3), "c": None}
    assert found.macro_f1 == pytest.approx(2 / 3)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1))
def test_macro_f1_equals_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    answers, gold = [answer for answer, _ in pairs], [label for _, label in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = f1_score(gold, answers, average="macro")
    found = LabelScores.of(answers, gold, LABELS)
    assert found.macro_f1 == pytest.approx(wanted)
    assert found.accuracy == pytest.approx(sum(answer == label for answer, label in pairs) / len(pairs))
