"""Transformer encoder, written out and trained from random weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import MAX_POSITIONS, TaggerConfig
from pipeline.taggers.base import Tagger
from pipeline.taggers.batches import TagBatch
from pipeline.taggers.schemes import TagScheme
from pipeline.taggers.tokens import CharacterTokeniser, Tokeniser


def sinusoidal_positions(n_positions: int, d_model: int) -> Tensor:
    """Return sines (even columns) and cosines (odd ones) of falling frequency: float32 (n_positions, d_model)."""
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    angles = torch.arange(n_positions)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention of every token to every token that is no padding."""

    def __init__(self, d_model: int, n_heads: int, *, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.projection = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Mix states (batch, seq_len, d_model) under a bool mask (batch, seq_len)."""
        # (batch, seq_len, 3 * d_model) -> 3 of (batch, n_heads, seq_len, d_model / n_heads)
        split = self.projection(states).unflatten(-1, (3, self.n_heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask[:, None, None], dropout_p=self.dropout if self.training else 0.0
        )
        attended: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return attended


class EncoderLayer(nn.Module):
    """Attention, then a position-wise feed-forward network, each with residual and layer normalisation after it."""

    def __init__(self, d_model: int, n_heads: int, feed_forward_dim: int, *, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, feed_forward_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(feed_forward_dim, d_model)
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Transform states (batch, seq_len, d_model)."""
        states = self.attention_norm(states + self.dropout(self.attention(states, mask)))
        transformed: Tensor = self.feed_forward_norm(states + self.dropout(self.feed_forward(states)))
        return transformed


class EncoderTagger(Tagger):
    """Transformer encoder over characters.

    Paper: Vaswani et al., NeurIPS 2017, arXiv:1706.03762, encoder half; d_model 512, 6 layers, 8 heads, inner size
    2048 are its base model. Deviation: a learnt vector tells the window from the title after it.
    """

    tokeniser = CharacterTokeniser

    def __init__(self, n_tokens: int, scheme: TagScheme, config: TaggerConfig) -> None:
        super().__init__(config.d_model, scheme, config)
        self.tokens = nn.Embedding(n_tokens, config.d_model)
        self.segments = nn.Embedding(2, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        nn.init.normal_(self.segments.weight, std=config.d_model**-0.5)
        self.scale = math.sqrt(config.d_model)
        self.positions: Tensor
        self.register_buffer("positions", sinusoidal_positions(MAX_POSITIONS, config.d_model), persistent=False)
        self.layers = nn.ModuleList(
            EncoderLayer(config.d_model, config.n_heads, config.feed_forward_dim, dropout=config.dropout)
            for _ in range(config.n_layers)
        )

    @classmethod
    def fit_tokeniser(cls, texts: Iterable[str], config: TaggerConfig) -> Tokeniser:
        """Take the characters of the training texts."""
        return CharacterTokeniser.fit(texts)

    @classmethod
    def create(cls, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Start from random weights."""
        return cls(len(tokeniser), scheme, config)

    def states(self, batch: TagBatch) -> Tensor:
        """Return the states of the last layer: (batch, seq_len, d_model)."""
        embedded = (self.tokens(batch.tokens) + self.segments(batch.segments)) * self.scale
        states: Tensor = self.dropout(embedded + self.positions[: batch.tokens.shape[1]])
        for layer in self.layers:
            states = layer(states, batch.mask)
        return states
