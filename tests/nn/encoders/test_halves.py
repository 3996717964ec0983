from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from pipeline.nn.encoders.halves import Halves
from pipeline.nn.encoders.states import hidden_states
from tests.support.tiny_encoder import tiny_network


def a_batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    tokens = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    segments = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
    return tokens, mask, segments


@pytest.mark.parametrize("n_lower", [1, 2, 3])
def test_the_halves_one_after_the_other_are_the_whole(n_lower: int) -> None:
    encoder = tiny_network(n_layers=3).eval()
    halves = Halves.of(encoder, n_lower)
    assert halves is not None
    tokens, mask, segments = a_batch()
    whole = hidden_states(encoder, tokens, mask, segments)
    joined = halves.upper(halves.lower(tokens, mask, segments), mask)
    torch.testing.assert_close(joined[mask], whole[mask])


def test_the_encoder_is_left_as_it_was() -> None:
    encoder = tiny_network(n_layers=3)
    names = list(encoder.state_dict())
    embeddings, layers = encoder.embeddings, list(encoder.encoder.layer)
    halves = Halves(encoder, 1)
    tokens, mask, segments = a_batch()
    halves.upper(halves.lower(tokens, mask, segments), mask)
    assert encoder.embeddings is embeddings
    assert list(encoder.encoder.layer) == layers
    assert list(encoder.state_dict()) == names


def test_gradients_reach_the_upper_half_alone() -> None:
    encoder = tiny_network(n_layers=2)
    halves = Halves(encoder, 1)
    tokens, mask, segments = a_batch()
    halves.upper(halves.lower(tokens, mask, segments), mask).sum().backward()
    reached = {name.split(".")[2] for name, weight in encoder.named_parameters() if weight.grad is not None}
    assert reached == {"1"}


def test_the_lower_half_has_no_dropout_while_the_upper_one_learns() -> None:
    encoder = tiny_network(n_layers=2).train()
    halves = Halves(encoder, 1)
    halves.rest_lower()
    batch = a_batch()
    assert torch.equal(halves.lower(*batch), halves.lower(*batch))
    assert encoder.encoder.layer[1].training


def test_nothing_below_is_no_half() -> None:
    assert Halves.of(tiny_network(), 0) is None


class _WithFinalLayer(nn.Module):
    """Layers with something after them that would be run twice."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = tiny_network(n_layers=2)
        self.embeddings = self.encoder.embeddings
        self.config = self.encoder.config

    def get_input_embeddings(self) -> Any:
        return self.encoder.get_input_embeddings()

    def forward(self, **inputs: torch.Tensor) -> Any:
        output = self.encoder(**inputs)
        output.last_hidden_state = output.last_hidden_state * 2 + 1
        return output


def test_an_encoder_whose_parts_are_not_the_whole_is_not_cut() -> None:
    assert Halves.of(_WithFinalLayer(), 1) is None
