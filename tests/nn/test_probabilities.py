from __future__ import annotations

import numpy as np
import pytest

from pipeline.nn.probabilities import balanced_weights, best_temperature, log_loss, one_hot_ids, softmax


def test_one_hot_of_any_number_of_classes() -> None:
    assert one_hot_ids([2, 0], 4).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert one_hot_ids([], 2).shape == (0, 2)


def test_weights_of_two_classes_by_hand() -> None:
    truth = one_hot_ids([0, 0, 0, 1], 3)
    # 1/3 and 1, scaled by 4 / (3 * 1/3 + 1 * 1) = 2
    assert balanced_weights(truth, power=1.0).tolist() == pytest.approx([2 / 3, 2, 1])
    assert balanced_weights(truth, power=0.0).tolist() == [1, 1, 1]


def test_temperature_of_two_classes_is_the_least_loss() -> None:
    rng = np.random.default_rng(3)
    probs = softmax(rng.normal(size=(300, 2)) * 4)
    truth = one_hot_ids(list(rng.integers(0, 2, 300)), 2)
    best = best_temperature(probs, truth)
    assert best > 5  # answers by chance deserve no confidence
    assert log_loss(softmax(np.log(probs) / best), truth) <= log_loss(softmax(np.log(probs) / (best * 0.7)), truth)
