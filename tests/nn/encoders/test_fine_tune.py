"""Which layers of an encoder are used."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AlbertConfig, AlbertModel

from pipeline.errors import ConfigError
from pipeline.nn.encoders import load_encoder
from pipeline.nn.encoders.fine_tune import keep_lowest
from tests.support.tiny_encoder import TOKENS, tiny_network, write_tiny_encoder


def test_states_of_the_lowest_layers_are_those_of_the_whole_encoder() -> None:
    whole = tiny_network(n_layers=3).eval()
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.inference_mode():
        of_layers = whole(ids, output_hidden_states=True).hidden_states
        for n_layers in (2, 1):  # the second time from what is left
            keep_lowest(whole, n_layers, option="n_layers")
            torch.testing.assert_close(whole(ids).last_hidden_state, of_layers[n_layers])
            assert whole.config.num_hidden_layers == n_layers
    with pytest.raises(ConfigError, match="n_layers is 2, the encoder has 1 layers"):
        keep_lowest(whole, 2, option="n_layers")


def test_none_is_all(tmp_path: Path) -> None:
    network = load_encoder(write_tiny_encoder(tmp_path, n_layers=2), n_tokens=len(TOKENS))
    keep_lowest(network, 0, option="n_layers")
    assert network.config.num_hidden_layers == 2


def test_layers_that_share_one_module_are_not_dropped() -> None:
    sizes = {"hidden_size": 8, "embedding_size": 4, "intermediate_size": 8, "num_attention_heads": 2}
    network = AlbertModel(AlbertConfig(vocab_size=20, num_hidden_layers=3, **sizes))
    with pytest.raises(ConfigError, match="cannot be told apart"):
        keep_lowest(network, 2, option="n_layers")
