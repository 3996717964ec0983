"""The maximum over some steps of each row: worked by hand, and untouched by what stands at padding."""

from __future__ import annotations

import torch

from pipeline.nn.layers import masked_max

STATES = torch.tensor(
    [[[-3.0, 1.0], [-2.0, -5.0], [9.0, 9.0]], [[4.0, -1.0], [7.0, 7.0], [8.0, 8.0]], [[5.0, 5.0]] * 3]
)
MASK = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])


def test_worked_by_hand() -> None:
    assert masked_max(STATES, MASK).tolist() == [[-2.0, 1.0], [4.0, -1.0], [0.0, 0.0]]


def test_what_stands_at_padding_is_of_no_consequence() -> None:
    spoilt = STATES.masked_fill(~MASK[..., None], 1e6)
    assert torch.equal(masked_max(spoilt, MASK), masked_max(STATES, MASK))


def test_padding_gets_no_gradient() -> None:
    states = STATES.clone().requires_grad_()
    masked_max(states, MASK).sum().backward()
    assert states.grad is not None
    assert not states.grad[~MASK].any()
