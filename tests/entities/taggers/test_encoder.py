from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from pipeline.entities.taggers.encoder import EncoderLayer, sinusoidal_positions


def test_a_layer_computes_what_torch_computes() -> None:
    torch.manual_seed(1)
    ours = EncoderLayer(16, 4, 24, dropout=0.0).eval()
    theirs = nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, batch_first=True)
    weights = ours.state_dict()
    names = {
        "self_attn.in_proj_weight": "attention.projection.weight",
        "self_attn.in_proj_bias": "attention.projection.bias",
        "self_attn.out_proj.weight": "attention.output.weight",
        "self_attn.out_proj.bias": "attention.output.bias",
        "norm1.weight": "attention_norm.weight",
        "norm1.bias": "attention_norm.bias",
        "linear1.weight": "feed_forward.0.weight",
        "linear1.bias": "feed_forward.0.bias",
        "linear2.weight": "feed_forward.3.weight",
        "linear2.bias": "feed_forward.3.bias",
        "norm2.weight": "feed_forward_norm.weight",
        "norm2.bias": "feed_forward_norm.bias",
    }
    theirs.load_state_dict({name: weights[source] for name, source in names.items()})
    states = torch.randn(3, 5, 16)
    mask = torch.arange(5) < torch.tensor([5, 3, 1])[:, None]
    expected = theirs(states, src_key_padding_mask=~mask)  # in training mode, so that no fast path is taken
    torch.testing.assert_close(ours(states, mask)[mask], expected[mask], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("position", "column"), [(0, 0), (0, 1), (3, 4), (7, 5), (11, 2)])
def test_positions_follow_the_formula(position: int, column: int) -> None:
    angle = position / 10_000 ** ((column - column % 2) / 6)
    wanted = math.cos(angle) if column % 2 else math.sin(angle)
    assert float(sinusoidal_positions(12, 6)[position, column]) == pytest.approx(wanted, abs=1e-5)
