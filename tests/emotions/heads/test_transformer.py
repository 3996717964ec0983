from __future__ import annotations

import pytest
import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.transformer import Transformer
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding, sinusoidal_positions
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

TEXTS = ["雨后松果园开门", "松果", ""]


@pytest.mark.parametrize(("n_heads", "hidden_dim", "n_layers"), [(2, 4, 2), (3, 5, 1)])
def test_head_equals_the_layers_over_one_unpadded_row(n_heads: int, hidden_dim: int, n_layers: int) -> None:
    vocabulary = Vocabulary.build(TEXTS, min_count=1)
    [batch] = BatchLoader([Target(text, 0, 0, "") for text in TEXTS], vocabulary).epoch()
    torch.manual_seed(0)
    config = HeadConfig(hidden_dim=hidden_dim, n_heads=n_heads, n_layers=n_layers)
    head = Transformer(TokenEmbedding(len(vocabulary), 6), config).eval()
    assert len(head.layers) == n_layers
    logits, embedded = head(batch), head.embedder(batch)
    for row, index in enumerate(batch.rows.tolist()):
        length = len(TEXTS[index])
        if not length:
            torch.testing.assert_close(logits[row], head.classify.bias)
            continue
        states = head.project(embedded[row : row + 1, :length]) + sinusoidal_positions(length, head.dim)
        for layer in head.layers:
            states = layer(states, torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(logits[row], head.classify(states.mean(1))[0], atol=1e-6, rtol=1e-4)


def test_order_matters() -> None:
    vocabulary = Vocabulary.build(TEXTS, min_count=1)
    items = [Target(text, 0, 0, "") for text in ("松果园", "园果松")]
    [batch] = BatchLoader(items, vocabulary).epoch()
    torch.manual_seed(0)
    head = Transformer(TokenEmbedding(len(vocabulary), 6), HeadConfig(hidden_dim=4)).eval()
    logits = head(batch)
    assert not torch.allclose(logits[0], logits[1], atol=1e-4)


def test_an_odd_size_of_positions_ends_on_a_sine() -> None:
    odd = sinusoidal_positions(9, 5)
    assert odd.shape == (9, 5)
    torch.testing.assert_close(odd[:, 4], torch.sin(torch.arange(9) / 10_000 ** (4 / 5)))
