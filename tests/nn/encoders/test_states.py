"""Batches through an encoder: padding to few shapes changes no state."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from transformers import RobertaConfig, RobertaModel

from pipeline.nn.encoders.states import LENGTH_STEP, hidden_states
from tests.support.tiny_encoder import tiny_network


def rows(length: int, *, padding: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, mask and segments of two rows, the second a third as long."""
    tokens = torch.arange(2 * length).reshape(2, length) % 20 + 5
    mask = torch.arange(length) < torch.tensor([[length], [max(1, length // 3)]])
    segments = (torch.arange(length) >= length // 2).long().expand(2, length) * mask
    return tokens.masked_fill(~mask, padding), mask, segments


class Recorder(nn.Module):
    """Notes the width of every batch."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.config, self.widths = encoder, encoder.config, []

    def forward(self, **inputs: Tensor) -> object:
        self.widths.append({part.shape[1] for part in inputs.values()})
        return self.encoder(**inputs)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 127, 128])
def test_states_are_those_of_the_bare_encoder(length: int) -> None:
    encoder = tiny_network().eval()
    tokens, mask, segments = rows(length)
    with torch.inference_mode():
        found = hidden_states(encoder, tokens, mask, segments)
        bare = encoder(input_ids=tokens, attention_mask=mask, token_type_ids=segments).last_hidden_state
    assert found.shape == bare.shape
    torch.testing.assert_close(found[mask], bare[mask], rtol=1e-4, atol=1e-5)


def test_positions_that_are_counted_over_padding_stay() -> None:
    sizes = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "type_vocab_size": 1,
    }
    encoder = RobertaModel(RobertaConfig(vocab_size=30, max_position_embeddings=20, **sizes)).eval()
    tokens, mask, segments = rows(11, padding=encoder.config.pad_token_id)
    with torch.inference_mode():
        found = hidden_states(encoder, tokens, mask, segments)
        bare = encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(found[mask], bare[mask], rtol=1e-4, atol=1e-5)


def test_many_lengths_make_few_shapes_that_the_encoder_can_read() -> None:
    encoder = Recorder(tiny_network().eval())
    with torch.inference_mode():
        for length in range(1, 129):
            hidden_states(encoder, *rows(length))
    assert {width for widths in encoder.widths for width in widths} == set(range(LENGTH_STEP, 129, LENGTH_STEP))
    encoder.config.max_position_embeddings = 100
    with torch.inference_mode():
        hidden_states(encoder, *rows(99))
    assert encoder.widths[-1] == {100}
