"""Transformer encoder, written out and trained from random weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

from torch import Tensor, nn

from pipeline.config import MAX_POSITIONS, TaggerConfig
from pipeline.entities.taggers.base import Tagger
from pipeline.entities.taggers.batches import TagBatch
from pipeline.nn.layers import EncoderLayer, sinusoidal_positions
from pipeline.nn.tokenisers import CharacterTokeniser, Tokeniser
from pipeline.text.spans import TagScheme


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
