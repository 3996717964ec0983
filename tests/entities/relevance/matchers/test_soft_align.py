from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pipeline.config import RelevanceConfig, SoftAlignConfig
from pipeline.entities.relevance.matchers.base import PairBatch, Side
from pipeline.entities.relevance.matchers.soft_align import RowBatchNorm, SoftAlign, soft_align
from tests.entities.relevance.matchers.loops import Weights, aligned, both_ways, weights_of

A = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]]])
A_MASK = torch.tensor([[True, True, False]])
B = torch.tensor([[[1.0, 1.0], [0.0, 1.0], [7.0, 7.0]]])
B_MASK = torch.tensor([[True, True, False]])


def test_worked_by_hand() -> None:
    """Dot products: a1 with b1, b2 = 1, 0; a2 with b1, b2 = 2, 2. The third token of either text is padding."""
    e = math.e
    a_aligned, b_aligned = soft_align(A, A_MASK, B, B_MASK)
    share = e / (e + 1)
    torch.testing.assert_close(a_aligned[0, :2], torch.tensor([[share, 1.0], [0.5, 1.0]]))
    first, second = e / (e + e**2), 1 / (1 + e**2)  # weights of a1 for b1 and for b2
    torch.testing.assert_close(b_aligned[0, :2], torch.tensor([[first, 2 * (1 - first)], [second, 2 * (1 - second)]]))


def test_what_padding_holds_changes_nothing() -> None:
    other_a, other_b = A.clone(), B.clone()
    other_a[0, 2], other_b[0, 2] = -50.0, 1e4
    for mine, other in zip(soft_align(A, A_MASK, B, B_MASK), soft_align(other_a, A_MASK, other_b, B_MASK), strict=True):
        torch.testing.assert_close(mine[0, :2], other[0, :2])


def test_an_empty_text_aligns_with_nothing() -> None:
    empty = torch.zeros_like(B_MASK)
    a_aligned, b_aligned = soft_align(A, A_MASK, B, empty)
    assert not a_aligned.any()
    assert torch.isfinite(b_aligned).all()
    assert not soft_align(A, empty, B, B_MASK)[1].any()


def test_a_training_batch_of_one_row_is_normalised_as_in_evaluation() -> None:
    norm = RowBatchNorm(3)
    for seed in range(5):
        norm(torch.randn(8, 3, generator=torch.Generator().manual_seed(seed)) * 2 + 1)
    before = norm.running_mean.clone()  # type: ignore[union-attr]
    row = torch.tensor([[1.0, 2.0, 3.0]])
    in_training = norm(row)
    assert torch.equal(norm.running_mean, before)  # type: ignore[arg-type]
    torch.testing.assert_close(in_training, norm.eval()(row))


OPTIONS = {
    "default": SoftAlignConfig(),
    "as printed": SoftAlignConfig(activation="tanh", batch_norm=False),
    "gru": SoftAlignConfig(cell="gru"),
    "two hidden layers": SoftAlignConfig(n_hidden_layers=2),
    "no differences": SoftAlignConfig(differences=False),
    "mean": SoftAlignConfig(pooling="mean"),
    "max": SoftAlignConfig(pooling="max"),
    "sum": SoftAlignConfig(pooling="sum"),
    "no composition": SoftAlignConfig(composition="feed_forward"),
    "decomposable": SoftAlignConfig(
        encoding="feed_forward", composition="feed_forward", differences=False, pooling="sum", batch_norm=False
    ),
}


def read(weights: Weights, name: str, inputs: np.ndarray, kind: str, cell: str) -> np.ndarray:
    if kind == "recurrent":
        return both_ways(weights, name, inputs, cell)
    return np.maximum(0, inputs @ weights[f"{name}.layer.weight"].T + weights[f"{name}.layer.bias"])


def logit_by_loops(weights: Weights, options: SoftAlignConfig, texts: list[list[int]]) -> float:
    """The equations of ``SoftAlign``, one pair and one token at a time."""
    read_by = [
        read(weights, "encode", weights["embedding.weight"][ids], options.encoding, options.cell) for ids in texts
    ]
    pooled = []
    for mine, other in (read_by, read_by[::-1]):
        soft = aligned(mine, other)
        parts = [mine, soft, mine - soft, mine * soft][: 4 if options.differences else 2]
        compared = np.concatenate(parts, axis=1) @ weights["project.weight"].T + weights["project.bias"]
        states = read(weights, "compose", np.maximum(0, compared), options.composition, options.cell)
        pools = {"mean": states.mean(0), "max": states.max(0), "sum": states.sum(0)}
        pooled += [pools[name] for name in options.pooling.split("_")]
    v = np.concatenate(pooled)
    if options.batch_norm:
        scale = weights["normalise.weight"] / np.sqrt(weights["normalise.running_var"] + 1e-5)
        v = (v - weights["normalise.running_mean"]) * scale + weights["normalise.bias"]
    for layer in range(options.n_hidden_layers):
        v = weights[f"classify.{3 * layer}.weight"] @ v + weights[f"classify.{3 * layer}.bias"]
        v = np.tanh(v) if options.activation == "tanh" else np.where(v > 0, v, np.exp(v) - 1)
    last = f"classify.{3 * options.n_hidden_layers}"
    return float((weights[f"{last}.weight"] @ v + weights[f"{last}.bias"])[0])


@pytest.mark.parametrize("name", OPTIONS)
def test_the_equations_one_token_at_a_time(name: str) -> None:
    torch.manual_seed(8)
    config = RelevanceConfig(embedding_dim=4, hidden_dim=3, dropout=0.2, soft_align=OPTIONS[name])
    matcher = SoftAlign(9, config).eval()
    with torch.no_grad():
        for key, value in matcher.state_dict().items():
            if value.is_floating_point():
                value.uniform_(0.5, 2.0) if key.endswith("running_var") else value.normal_(std=0.6)
    weights = weights_of(matcher)
    pairs = [([2, 3, 4], [5, 3]), ([7], [8, 2, 6, 3, 1]), ([5, 5], [5, 5])]
    sides = ([np.array(pair[side], dtype=np.int64) for pair in pairs] for side in (0, 1))
    found = matcher(PairBatch(*map(Side.of, sides))).tolist()
    assert found == pytest.approx([logit_by_loops(weights, OPTIONS[name], list(pair)) for pair in pairs], rel=1e-4)
