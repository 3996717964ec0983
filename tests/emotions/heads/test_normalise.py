"""Batch normalisation over steps of which padding is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.af_lstm import AFLSTM
from pipeline.emotions.heads.normalise import MaskedBatchNorm
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

MASK = torch.arange(6) < torch.tensor([6, 2, 0])[:, None]


def states(seed: int) -> torch.Tensor:
    return torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(seed)) * 3 + 1


def test_norm_equals_that_of_torch_over_the_steps_without_padding() -> None:
    ours, theirs = MaskedBatchNorm(4), nn.BatchNorm1d(4)
    for seed in range(3):
        x = states(seed)
        x[~MASK] = 1e6  # what padding holds must not count
        torch.testing.assert_close(ours(x, MASK)[MASK], theirs(x[MASK]), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_variance, theirs.running_var)
    ours.eval()
    theirs.eval()
    x = states(9)
    torch.testing.assert_close(ours(x, MASK)[MASK], theirs(x[MASK]))


def test_evaluation_moves_no_average_and_a_single_step_has_no_variance() -> None:
    norm = MaskedBatchNorm(4)
    one = torch.zeros(3, 6, dtype=torch.bool)
    one[0, 0] = True
    before = norm.running_variance.clone()
    found = norm(states(0), one)
    assert torch.equal(norm.running_variance, before)
    torch.testing.assert_close(found, states(0), atol=1e-4, rtol=1e-4)  # the averages are still 0 and 1
    norm.eval()(states(0), MASK)
    assert torch.equal(norm.running_variance, before)


def test_gradients_are_those_of_torch() -> None:
    ours, theirs = MaskedBatchNorm(4), nn.BatchNorm1d(4)
    a, b = states(1).requires_grad_(), states(1).requires_grad_()
    ours(a, MASK)[MASK].pow(3).sum().backward()
    theirs(b[MASK]).pow(3).sum().backward()
    torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_padding_changes_nothing_in_training_either(norm: str) -> None:
    items = [Target("松果又香又甜", 0, 2, "松果"), Target("茶苦", 0, 1, "茶"), Target("天下雨了", 0, 0, "茶")]
    vocabulary = Vocabulary.build([item.text for item in items], min_count=1)
    [batch] = BatchLoader(items, vocabulary).epoch()
    config = HeadConfig(hidden_dim=4, dropout=0.0, af_normalise=norm)  # type: ignore[arg-type]
    torch.manual_seed(0)
    head = AFLSTM(TokenEmbedding(len(vocabulary), 5), config).train()
    wide = replace(
        batch, **{part: functional.pad(getattr(batch, part), (0, 5)) for part in ("tokens", "mask", "mentions")}
    )
    torch.testing.assert_close(head(wide), head(batch), atol=1e-5, rtol=1e-4)


def test_running_averages_are_saved_and_used() -> None:
    item = Target("松果又香又甜", 0, 2, "松果")
    vocabulary = Vocabulary.build([item.text], min_count=1)
    [batch] = BatchLoader([item, Target("又甜又香", 2, 3, "又")], vocabulary).epoch()
    torch.manual_seed(0)
    head = AFLSTM(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=4, af_normalise="batch"))
    before = head.eval()(batch)
    head.train()(batch)
    assert not torch.allclose(head.eval()(batch), before)
    assert {"normalise_context.running_mean", "normalise_target.running_variance"} <= set(head.state_dict())
