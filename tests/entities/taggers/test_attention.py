"""Attention maps of the Transformer labeller against loops, its tokenisers and its named sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config import TaggerConfig, TrainingConfig
from pipeline.entities.taggers.attention import attention_maps
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ConfigError, DataError
from pipeline.nn.layers import MultiHeadAttention
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.text.spans import LabelledText, Span

Options = Callable[..., TaggerConfig]
TEXTS = [LabelledText("青禾科技发布nova", (Span(0, 4), Span(6, 10))), LabelledText("今天很好。")]


def test_weights_follow_the_equation_and_mix_the_values() -> None:
    torch.manual_seed(3)
    attention = MultiHeadAttention(8, 2, dropout=0.0).eval()
    states, mask = torch.randn(2, 4, 8), torch.tensor([[True] * 4, [True, True, False, False]])
    with torch.no_grad():
        weights = attention.weights(states, mask).numpy()
        projected = attention.projection(states).numpy()
        mixed = attention(states, mask).numpy()
    output, bias = attention.output.weight.detach().numpy(), attention.output.bias.detach().numpy()
    for row in range(2):
        known = [step for step in range(4) if mask[row, step]]
        joined = np.zeros((4, 8))
        for head in range(2):
            query, key, value = (projected[row][:, part * 8 + head * 4 : part * 8 + head * 4 + 4] for part in range(3))
            for step in range(4):
                scores = {other: math.exp(query[step] @ key[other] / math.sqrt(4)) for other in known}
                total = sum(scores.values())
                for other in range(4):
                    wanted = scores.get(other, 0.0) / total
                    assert weights[row, head, step, other] == pytest.approx(wanted, abs=1e-5)
                    joined[step, head * 4 : head * 4 + 4] += wanted * value[other]
        np.testing.assert_allclose(mixed[row], joined @ output.T + bias, atol=1e-5)


def test_maps_have_a_row_for_each_token_in_every_head(tiny_tagger: Options) -> None:
    model = TaggerModel(tiny_tagger("encoder", epochs=1), seed=1).fit(TEXTS)
    maps = attention_maps(model, TEXTS[0])
    assert maps.tokens == ("[CLS]", *"青禾科技发布", "nova", "[SEP]")
    assert maps.weights.shape == (2, 4, 9, 9)
    np.testing.assert_allclose(maps.weights.sum(-1), 1, atol=1e-5)
    for text, message in (("", "has 0 tokens"), ("青" * 25, "has 25 tokens, attention is shown for 1 to 24")):
        with pytest.raises(DataError, match=message):
            attention_maps(model, LabelledText(text))
    with pytest.raises(ConfigError, match="a tagger lstm has no attention maps"):
        attention_maps(TaggerModel(tiny_tagger("lstm", epochs=1)).fit(TEXTS), TEXTS[0])


def test_a_named_tokeniser_is_read_and_saved(tiny_tagger: Options, tiny_encoder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "tokeniser"
    alone.mkdir()
    for path in tiny_encoder.iterdir():
        if "token" in path.name or path.name == "vocab.txt":
            (alone / path.name).write_bytes(path.read_bytes())
    model = TaggerModel(tiny_tagger("encoder", epochs=30, tokeniser=str(alone)), seed=1).fit(TEXTS)
    assert isinstance(model.tokeniser_, PieceTokeniser)
    assert model.tag(TEXTS) == [list(text.spans) for text in TEXTS]
    model.save(tmp_path / "model")
    assert TaggerModel.load(tmp_path / "model").predict(TEXTS) == model.predict(TEXTS)


def test_the_size_of_the_source_makes_a_step() -> None:
    config = TaggerConfig(
        name="encoder", size="base", d_model=8, training=TrainingConfig(max_epochs=1, batch_size=1, learning_rate=1e-4)
    )
    assert (config.d_model, config.n_layers, config.n_heads, config.feed_forward_dim) == (512, 6, 8, 2048)
    model = TaggerModel(config, seed=1).fit(TEXTS[:1])
    maps = attention_maps(model, TEXTS[0])
    assert maps.weights.shape[:2] == (6, 8)
    n_weights = sum(p.numel() for name, p in model.network_.named_parameters() if name.startswith("layers."))
    assert n_weights == 6 * (4 * 512 * 512 + 4 * 512 + 2 * 512 * 2048 + 2048 + 512 + 4 * 512)
    assert TaggerConfig(name="encoder", size="small").d_model == 256
