"""Transformer encoder, written out and trained from random weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from pipeline.config import MAX_POSITIONS, TaggerConfig
from pipeline.entities.taggers.base import Tagger
from pipeline.entities.taggers.batches import TagBatch
from pipeline.nn.layers import EncoderLayer, sinusoidal_positions
from pipeline.nn.tokenisers import CharacterTokeniser, PieceTokeniser, Tokeniser
from pipeline.text.spans import TagScheme


class EncoderTagger(Tagger):
    """Transformer encoder over characters, given words, or the pieces of a tokeniser (``tagger.tokeniser``).

    Paper: Vaswani et al., NeurIPS 2017, arXiv:1706.03762, encoder half; d_model 512, 6 layers, 8 heads, inner size
    2048 are its base model (``tagger.size=base``). Deviation: a learnt vector tells the window from the title after it.
    """

    tokeniser = CharacterTokeniser
    reads_words = True

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
        """Take the characters of the training texts, or the tokeniser that is named."""
        return PieceTokeniser.named(config.tokeniser) if config.tokeniser else CharacterTokeniser.fit(texts)

    @classmethod
    def load_tokeniser(cls, folder: Path, config: TaggerConfig) -> Tokeniser:
        """Read the tokeniser that was saved with a network."""
        return PieceTokeniser.load(folder) if config.tokeniser else CharacterTokeniser.load(folder)

    @classmethod
    def create(cls, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Start from random weights."""
        return cls(len(tokeniser), scheme, config)

    def states(self, batch: TagBatch) -> Tensor:
        """Return the states of the last layer: (batch, seq_len, d_model)."""
        states = self._embedded(batch)
        for layer in self.layers:
            states = layer(states, batch.mask)
        return states

    def attention(self, batch: TagBatch) -> Tensor:
        """Return how much each token (query) attends to each (key), in every layer and head.

        Returns:
            float32 (batch, n_layers, n_heads, seq_len, seq_len); each row over keys sums to 1, and is 0 at padding.
        """
        states, maps = self._embedded(batch), []
        layer: Any  # a ModuleList does not say of what
        for layer in self.layers:
            maps.append(layer.attention.weights(states, batch.mask))
            states = layer(states, batch.mask)
        return torch.stack(maps, 1)

    def _embedded(self, batch: TagBatch) -> Tensor:
        embedded = (self.tokens(batch.tokens) + self.segments(batch.segments)) * self.scale
        states: Tensor = self.dropout(embedded + self.positions[: batch.tokens.shape[1]])
        return states
