from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from pipeline.emotions.sentiment.scores import Scores, one_hot
from pipeline.report.emotion import classification, emotion_figures, reliability
from pipeline.schema import EMOTIONS
from tests.support.outcomes import NEG, NORM, POS

PAIRS = st.lists(st.tuples(st.sampled_from(EMOTIONS), st.sampled_from(EMOTIONS)), min_size=1, max_size=30)


@given(PAIRS)
def test_classification_agrees_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    gold, pred = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = classification(gold, pred)  # type: ignore[arg-type]
    labels = list(EMOTIONS)
    assert found["confusion"] == confusion_matrix(gold, pred, labels=labels).tolist()
    assert found["accuracy"] == pytest.approx(accuracy_score(gold, pred), abs=1e-6)
    figures = precision_recall_fscore_support(gold, pred, labels=labels, zero_division=0)
    for emotion, precision, recall, f1, support in zip(labels, *figures, strict=True):
        row = found["per_class"][emotion.value]
        assert row["n"] == support
        if support or emotion in pred:
            assert (row["precision"], row["recall"], row["f1"]) == pytest.approx((precision, recall, f1), abs=1e-6)
        else:
            assert (row["precision"], row["recall"], row["f1"]) == (None, None, None)
    assert found["macro_f1"] == pytest.approx(f1_score(gold, pred, average="macro"), abs=1e-6)
    counts = [gold.count(emotion) for emotion in labels]
    assert found["majority"]["accuracy"] == pytest.approx(max(counts) / len(gold), abs=1e-6)
    assert found["majority"]["emotion"] == labels[counts.index(max(counts))]


@given(PAIRS, st.data())
def test_figures_agree_with_those_of_training(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    """The table of the sentiment stage and the report must not differ on the same probabilities."""
    gold = [pair[0] for pair in pairs]
    raw = np.array([data.draw(st.lists(st.floats(0.01, 1), min_size=3, max_size=3)) for _ in gold])
    probs = raw / raw.sum(axis=1, keepdims=True)
    found = emotion_figures(gold, probs, np.ones(len(gold), dtype=bool))  # type: ignore[arg-type]
    want = Scores.of("x", probs, gold, seconds=0)  # type: ignore[arg-type]
    assert found["accuracy"] == pytest.approx(want.accuracy, abs=1e-6)
    assert found["macro_f1"] == pytest.approx(want.macro_f1, abs=1e-6)
    assert found["expected_calibration_error"] == pytest.approx(want.ece, abs=1e-6)


def test_always_the_majority_does_not_beat_it() -> None:
    found = classification([POS, POS, NEG], [POS, POS, POS])
    assert not found["beats_majority"]
    assert classification([POS, POS, NEG], [POS, POS, NEG])["beats_majority"]


def test_reliability_bins() -> None:
    rows, error = reliability(np.array([0.41, 0.49, 0.95, 1.0]), np.array([True, False, True, True]))
    assert rows == [
        {"low": 0.4, "high": 0.5, "n": 2, "confidence": pytest.approx(0.45), "accuracy": 0.5},
        {"low": 0.9, "high": 1.0, "n": 2, "confidence": pytest.approx(0.975), "accuracy": 1.0},
    ]
    assert error == pytest.approx(0.5 * 0.05 + 0.5 * 0.025)


def test_the_gap_is_between_all_gold_entities_and_those_found() -> None:
    found = emotion_figures([POS, NORM, NEG, NEG], one_hot([POS, NORM, NEG, POS]), np.array([True, False, False, True]))
    assert found["gold_targets"] == {"accuracy": 0.75, "n": 4}
    assert found["predicted_targets"] == {"accuracy": 0.5, "n": 2}
    assert found["gap"] == 0.25


def test_nothing_to_judge() -> None:
    found = emotion_figures([], np.zeros((0, 3)), np.zeros(0, dtype=bool))
    assert found["accuracy"] is None
    assert found["macro_f1"] is None
    assert found["gap"] is None
    assert found["reliability"] == []
