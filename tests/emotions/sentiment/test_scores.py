from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.metrics import log_loss as sklearn_log_loss

from pipeline.emotions.sentiment.scores import (
    Scores,
    class_weights,
    fit_temperature,
    likeliest,
    log_loss,
    mixture_weights,
    one_hot,
    softmax,
    with_temperature,
)
from pipeline.schema import EMOTIONS, Emotion

POS, NORM, NEG = EMOTIONS


def random_probs(n: int, *, sharpness: float = 1.0) -> np.ndarray:
    return softmax(np.random.default_rng(0).normal(size=(n, 3)) * sharpness)


def test_scores_by_hand() -> None:
    probs = np.array([[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.4, 0.5, 0.1]])
    found = Scores.of("松果", probs, [POS, NORM, NORM, NORM], seconds=1.5)
    assert found.accuracy == 0.75
    assert found.f1 == {
        "POS": pytest.approx(2 / 3),
        "NORM": pytest.approx(0.8),
        "NEG": None,
    }  # nobody claims or wants it
    assert found.macro_f1 == pytest.approx((2 / 3 + 0.8) / 2)
    assert found.log_loss == pytest.approx(-sum(map(math.log, [0.8, 0.3, 0.7, 0.5])) / 4)
    # bins of confidence 0.5, 0.6, 0.7, 0.8 hold one example each
    assert found.ece == pytest.approx((0.5 + 0.6 + 0.3 + 0.2) / 4)


def test_scores_agree_with_scikit_learn() -> None:
    probs = random_probs(200)
    gold = [EMOTIONS[i] for i in np.random.default_rng(1).integers(0, 3, 200)]
    found = Scores.of("松果", probs, gold, seconds=0.0)
    answer = [EMOTIONS[i] for i in probs.argmax(1)]
    assert found.macro_f1 == pytest.approx(f1_score(gold, answer, average="macro"))
    in_their_order = probs[:, [EMOTIONS.index(Emotion(name)) for name in sorted(EMOTIONS)]]
    assert found.log_loss == pytest.approx(sklearn_log_loss(gold, in_their_order, labels=sorted(EMOTIONS)))


def test_the_likeliest_emotion_and_the_first_of_equals() -> None:
    probs = np.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [1 / 3] * 3])
    assert likeliest(probs) == [NEG, POS, NORM, POS]
    assert likeliest(np.zeros((0, 3))) == []


def test_temperature_keeps_order_and_sums() -> None:
    probs = random_probs(50)
    for temperature in (0.1, 1.0, 7.0):
        warm = with_temperature(probs, temperature)
        np.testing.assert_allclose(warm.sum(1), 1)
        np.testing.assert_array_equal(warm.argmax(1), probs.argmax(1))
    np.testing.assert_allclose(with_temperature(probs, 1.0), probs)
    assert with_temperature(probs, 5.0).max() < probs.max()


@pytest.mark.parametrize("sharpness", [0.5, 3.0])
def test_fitted_temperature_undoes_over_and_underconfidence(sharpness: float) -> None:
    honest = random_probs(4000)
    rng = np.random.default_rng(2)
    gold = [EMOTIONS[rng.choice(3, p=row)] for row in honest]
    distorted = with_temperature(honest, 1 / sharpness)
    temperature = fit_temperature(distorted, gold)
    assert temperature == pytest.approx(sharpness, rel=0.1)
    assert log_loss(with_temperature(distorted, temperature), one_hot(gold)) < log_loss(distorted, one_hot(gold))


def test_certain_and_wrong_is_finite() -> None:
    assert math.isfinite(log_loss(np.array([[0.0, 1.0, 0.0]]), one_hot([POS])))
    assert np.isfinite(with_temperature(np.array([[0.0, 1.0, 0.0]]), 3.0)).all()


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_class_weights_average_one_over_the_examples(power: float) -> None:
    gold = [POS] * 8 + [NORM] * 2
    weights = class_weights(gold, power=power)
    assert sum(weights[emotion] for emotion in gold) == pytest.approx(10)
    assert weights[NORM] / weights[POS] == pytest.approx(4**power)
    assert weights[NEG] == 1.0


def test_mixture_weights_are_the_best_of_a_fine_grid() -> None:
    rng = np.random.default_rng(3)
    gold = [EMOTIONS[i] for i in rng.integers(0, 3, 400)]
    columns = np.array([EMOTIONS.index(emotion) for emotion in gold])
    members = []
    for strength in (1.0, 0.6):
        logits = rng.normal(size=(400, 3))
        logits[np.arange(400), columns] += strength
        members.append(np.exp(logits) / np.exp(logits).sum(1, keepdims=True))
    found = mixture_weights(members, gold)
    of_gold = [probs[np.arange(400), columns] for probs in members]
    grid = np.linspace(0, 1, 2001)
    best = grid[np.argmax([np.log(w * of_gold[0] + (1 - w) * of_gold[1]).mean() for w in grid])]
    assert 0.5 < best < 0.95
    np.testing.assert_allclose(found, [best, 1 - best], atol=2e-3)


def test_mixture_weights_of_one_member_and_of_impossible_answers() -> None:
    gold = [Emotion.POS, Emotion.NEG]
    np.testing.assert_allclose(mixture_weights([np.full((2, 3), 1 / 3)], gold), [1.0])
    impossible = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(mixture_weights([impossible, impossible], gold), [0.5, 0.5])
    np.testing.assert_allclose(mixture_weights([impossible, np.full((2, 3), 1 / 3)], gold), [0.0, 1.0], atol=1e-12)
