"""From scores to probabilities."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from pipeline.entities.rerank import Calibrator
from pipeline.entities.rerank.calibrate import _log_sum_exp, _sigmoid
from pipeline.errors import ArtifactError

score_lists = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12).map(np.array)


def planted(n_articles: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Scores whose gold candidates follow a known logistic law."""
    rng = np.random.default_rng(seed)
    scores = [rng.normal(size=rng.integers(3, 12)) for _ in range(n_articles)]
    labels = [(rng.random(len(score)) < 1 / (1 + np.exp(1 - 2 * score))).astype(np.float32) for score in scores]
    return scores, labels


def test_worked_by_hand() -> None:
    calibrator = Calibrator((0.5, 2.0, -1.0), 0.25)
    scores = [1.0, -1.0]
    total = math.log(math.exp(1) + math.exp(-1))
    logits = [0.5 * score + 2.0 * (score - 1.0) - total + 0.25 for score in scores]
    assert calibrator.probs(np.array(scores)) == pytest.approx([1 / (1 + math.exp(-logit)) for logit in logits])


def test_recovers_a_known_law() -> None:
    calibrator = Calibrator.fit(*planted(800, 0))
    scores, labels = planted(400, 1)
    probs = np.concatenate([calibrator.probs(score) for score in scores])
    gold = np.concatenate(labels)
    assert probs.mean() == pytest.approx(gold.mean(), abs=0.02)
    expected = np.concatenate([1 / (1 + np.exp(1 - 2 * score)) for score in scores])
    assert np.abs(probs - expected).mean() < 0.05


def test_a_higher_score_gets_a_higher_probability() -> None:
    calibrator = Calibrator.fit(*planted(300, 0))
    for scores, _ in zip(*planted(50, 2), strict=True):
        order = np.argsort(scores)
        assert (np.diff(calibrator.probs(scores)[order]) > 0).all()


@given(score_lists, st.randoms(use_true_random=False))
def test_probabilities_follow_their_rows_and_stay_in_bounds(scores: np.ndarray, rng: object) -> None:
    calibrator = Calibrator((1.5, 0.5, -0.7), -1.0)
    probs = calibrator.probs(scores)
    assert probs.shape == scores.shape
    assert ((probs >= 0) & (probs <= 1)).all()
    order = np.array(rng.sample(range(len(scores)), len(scores)))  # type: ignore[attr-defined]
    np.testing.assert_allclose(calibrator.probs(scores[order]), probs[order], rtol=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_kind_leave_the_score_as_log_odds(label: int) -> None:
    calibrator = Calibrator.fit([np.array([1.0, 2.0])], [np.full(2, label)])
    assert calibrator == Calibrator((1.0, 0.0, 0.0), 0.0)
    assert calibrator.probs(np.array([0.0, 1.0])) == pytest.approx([0.5, 1 / (1 + math.exp(-1))])


def test_articles_without_candidates() -> None:
    scores, labels = planted(100, 0)
    nothing = np.zeros(0)
    calibrator = Calibrator.fit([nothing, *scores], [nothing, *labels])
    assert calibrator == Calibrator.fit(scores, labels)
    assert calibrator.probs(nothing).shape == (0,)


def test_round_trip() -> None:
    calibrator = Calibrator.fit(*planted(100, 0))
    assert Calibrator.from_dict(json.loads(json.dumps(calibrator.to_dict()))) == calibrator


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"weights": [1, 2, 3]},
        {"intercept": 0},
        {"weights": [1, 2], "intercept": 0},
        {"weights": "abc", "intercept": 0},
    ],
)
def test_missing_parameters_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ArtifactError, match="calibrator: want three weights and an intercept"):
        Calibrator.from_dict(values)


@given(st.lists(st.floats(-40, 40) | st.sampled_from([1.5, -30.0, 30.0]), min_size=1, max_size=200))
def test_log_sum_exp_is_scipys(scores: list[float]) -> None:
    assert _log_sum_exp(np.array(scores)) == logsumexp(np.array(scores))


@given(st.floats(-1000, 1000))
def test_sigmoid_is_scipys(logit: float) -> None:
    assert _sigmoid(logit) == pytest.approx(expit(logit), rel=1e-15, abs=1e-300)
