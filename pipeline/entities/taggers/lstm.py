"""BiLSTM tagger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from torch import Tensor, nn

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.base import Tagger
from pipeline.entities.taggers.batches import TagBatch
from pipeline.nn.layers import MaskedLSTM
from pipeline.nn.tokenisers import CharacterTokeniser, Tokeniser
from pipeline.text.spans import TagScheme


class LSTMTagger(Tagger):
    """An LSTM in both directions over characters, with a softmax or CRF output.

    Paper: Huang et al., arXiv:1508.01991. Deviations: no hand-made features; embeddings learnt from random starts;
    the window is followed by the title, told apart by a learnt vector for each segment.
    """

    tokeniser = CharacterTokeniser

    def __init__(self, n_tokens: int, scheme: TagScheme, config: TaggerConfig) -> None:
        super().__init__(2 * config.hidden_dim, scheme, config)
        self.tokens = nn.Embedding(n_tokens, config.embedding_dim)
        self.segments = nn.Embedding(2, config.embedding_dim)
        self.lstm = MaskedLSTM(config.embedding_dim, config.hidden_dim, bidirectional=True)

    @classmethod
    def fit_tokeniser(cls, texts: Iterable[str], config: TaggerConfig) -> Tokeniser:
        """Take the characters of the training texts."""
        return CharacterTokeniser.fit(texts)

    @classmethod
    def create(cls, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Start from random weights."""
        return cls(len(tokeniser), scheme, config)

    def states(self, batch: TagBatch) -> Tensor:
        """Return both directions side by side: (batch, seq_len, 2 * hidden_dim)."""
        embedded = self.dropout(self.tokens(batch.tokens) + self.segments(batch.segments))
        states, _ = self.lstm(embedded, batch.mask)
        return states
