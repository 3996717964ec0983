from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pipeline.config import MaLSTMConfig, RelevanceConfig
from pipeline.entities.relevance.matchers.base import PairBatch, Side
from pipeline.entities.relevance.matchers.malstm import FORGET_BIAS, MaLSTM
from pipeline.entities.relevance.matchers.measures import logit_of_distance
from tests.entities.relevance.matchers.loops import CELLS, weights_of


def test_similarity_is_exp_of_the_negative_distance() -> None:
    distance = torch.tensor([1e-3, 0.1, 1.0, 10.0, 80.0])
    torch.testing.assert_close(logit_of_distance(distance).sigmoid(), (-distance).exp(), rtol=1e-4, atol=0)
    assert torch.isfinite(logit_of_distance(torch.tensor([0.0, 1e-9, 1e4]))).all()


@pytest.mark.parametrize("similarity", ["exp_l1", "euclidean", "cosine", "linear"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_the_steps_of_the_layers_one_token_at_a_time(similarity: str, cell: str, n_layers: int, tied: bool) -> None:
    options = MaLSTMConfig(similarity=similarity, cell=cell, n_layers=n_layers, tied=tied)  # type: ignore[arg-type]
    torch.manual_seed(5)
    matcher = MaLSTM(6, RelevanceConfig(embedding_dim=3, hidden_dim=2, dropout=0.0, malstm=options)).eval()
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.normal_(std=0.7)
    weights = weights_of(matcher)

    def encoding(ids: list[int], lower: str, upper: str) -> np.ndarray:
        states = CELLS[cell](weights, f"{lower}.forwards", weights["embedding.weight"][ids])
        if n_layers == 2:
            states = CELLS[cell](weights, f"{upper}.forwards", states)
        return states[-1] if ids else np.zeros(2)

    right_names = ("lstm", "upper") if tied else ("right_lstm", "right_upper")
    for left, right in (([1, 2, 3], [3, 5]), ([4], [2, 2, 1, 5]), ([], [3])):
        a, b = encoding(left, "lstm", "upper"), encoding(right, *right_names)
        batch = PairBatch(*(Side.of([np.array(ids, dtype=np.int64)]) for ids in (left, right)))
        found = matcher.similarity(batch).item()
        if similarity == "linear":
            total = (weights["linear.weight"][0] * np.concatenate([a, b])).sum() + weights["linear.bias"][0]
            assert found == pytest.approx(1 / (1 + math.exp(-total)), rel=1e-5, abs=1e-6)
            continue
        distance = {
            "exp_l1": np.abs(a - b).sum(),
            "euclidean": np.sqrt(((a - b) ** 2).sum()),
            "cosine": 1 - a @ b / max(1e-8, np.linalg.norm(a) * np.linalg.norm(b)),
        }[similarity]
        assert found == pytest.approx(
            1 - distance / 2 if similarity == "cosine" else math.exp(-distance), rel=1e-5, abs=1e-6
        )
        assert matcher.distance_of(matcher(batch)).item() == pytest.approx(distance, rel=1e-5, abs=1e-6)


def test_a_linear_layer_gives_each_text_a_term_of_its_own() -> None:
    """So it cannot tell whether two texts are alike: the docstring's warning."""
    options = RelevanceConfig(embedding_dim=4, hidden_dim=3, malstm=MaLSTMConfig(similarity="linear"))
    matcher = MaLSTM(6, options).eval()
    one, two = (Side.of([np.array(ids, dtype=np.int64)]) for ids in ([2, 3], [4, 5]))
    same = matcher(PairBatch(one, one)) + matcher(PairBatch(two, two))
    torch.testing.assert_close(same, matcher(PairBatch(one, two)) + matcher(PairBatch(two, one)))
    with pytest.raises(TypeError, match="MaLSTM has no distance"):
        matcher.distance_of(same)


def test_equal_texts_are_as_similar_as_can_be_and_forget_gates_start_open() -> None:
    matcher = MaLSTM(6, RelevanceConfig(embedding_dim=4, hidden_dim=3)).eval()
    side = Side.of([np.array([2, 3, 5], dtype=np.int64)])
    assert matcher.similarity(PairBatch(side, side)).item() == pytest.approx(1.0, abs=1e-5)
    assert matcher.lstm.forwards.bias_ih_l0.tolist() == [0.0] * 3 + [FORGET_BIAS] * 3 + [0.0] * 6
