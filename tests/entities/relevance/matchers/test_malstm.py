from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.matchers.base import PairBatch, Side
from pipeline.entities.relevance.matchers.malstm import FORGET_BIAS, MaLSTM
from pipeline.entities.relevance.matchers.measures import logit_of_distance


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_similarity_is_exp_of_the_negative_distance() -> None:
    distance = torch.tensor([1e-3, 0.1, 1.0, 10.0, 80.0])
    torch.testing.assert_close(logit_of_distance(distance).sigmoid(), (-distance).exp(), rtol=1e-4, atol=0)
    assert torch.isfinite(logit_of_distance(torch.tensor([0.0, 1e-9, 1e4]))).all()


def test_worked_by_hand() -> None:
    """The same steps as the layer takes, one token at a time."""
    matcher = MaLSTM(4, RelevanceConfig(embedding_dim=2, hidden_dim=2, dropout=0.0)).eval()
    weights = {name: parameter.detach().double().numpy() for name, parameter in matcher.named_parameters()}

    def last_state(ids: list[int]) -> np.ndarray:
        state, cell = np.zeros(2), np.zeros(2)
        for token in ids:
            gates = weights["lstm.forwards.weight_ih_l0"] @ weights["embedding.weight"][token]
            gates = gates + weights["lstm.forwards.weight_hh_l0"] @ state
            gates = gates + weights["lstm.forwards.bias_ih_l0"] + weights["lstm.forwards.bias_hh_l0"]
            squashed = [sigmoid(gate) for gate in gates]
            cell = np.array(squashed[2:4]) * cell + np.array(squashed[0:2]) * np.tanh(gates[4:6])
            state = np.array(squashed[6:8]) * np.tanh(cell)
        return state

    left, right = [1, 2, 3], [3, 2]
    expected = math.exp(-abs(last_state(left) - last_state(right)).sum())
    batch = PairBatch(*(Side.of([np.array(ids, dtype=np.int64)]) for ids in (left, right)))
    assert matcher.similarity(batch).item() == pytest.approx(expected, rel=1e-5)
    assert matcher.distance_of(matcher(batch)).item() == pytest.approx(-math.log(expected), rel=1e-5)


def test_equal_texts_are_as_similar_as_can_be_and_forget_gates_start_open() -> None:
    matcher = MaLSTM(6, RelevanceConfig(embedding_dim=4, hidden_dim=3)).eval()
    side = Side.of([np.array([2, 3, 5], dtype=np.int64)])
    assert matcher.similarity(PairBatch(side, side)).item() == pytest.approx(1.0, abs=1e-5)
    assert matcher.lstm.forwards.bias_ih_l0.tolist() == [0.0] * 3 + [FORGET_BIAS] * 3 + [0.0] * 6
