from __future__ import annotations

import math

import pytest
import torch

from pipeline.entities.relevance.matchers.losses import pair_loss

# Similarities 0.5 (core) and 0.25 (not): logits log(s / (1 - s)), distances -log s.
LOGITS, LABELS = torch.tensor([0.0, math.log(0.25 / 0.75)]), torch.tensor([1.0, 0.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bce", (-math.log(0.5) - math.log(0.75)) / 2),
        ("mse", (0.5**2 + 0.25**2) / 2),
        ("contrastive", (math.log(2) ** 2 + (2 - math.log(4)) ** 2) / 2),
    ],
)
def test_worked_by_hand(name: str, expected: float) -> None:
    assert pair_loss(name, LOGITS, LABELS, margin=2.0).item() == pytest.approx(expected, rel=1e-6)


def test_a_pair_beyond_the_margin_costs_nothing() -> None:
    logits = torch.tensor([-5.0], requires_grad=True)
    loss = pair_loss("contrastive", logits, torch.tensor([0.0]), margin=1.0)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert logits.grad.item() == 0


def test_unknown_loss() -> None:
    with pytest.raises(KeyError, match="hinge"):
        pair_loss("hinge", LOGITS, LABELS, margin=1.0)


def test_a_distance_is_wanted_where_the_loss_reads_one() -> None:
    with pytest.raises(ValueError, match="needs the distance"):
        pair_loss("contrastive_distance", LOGITS, LABELS, margin=1.0)
