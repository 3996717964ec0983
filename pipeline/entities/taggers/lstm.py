"""LSTM tagger, forward or in both directions."""

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
    """An LSTM over characters or given words, with a softmax or CRF output.

    With x_t the embedding of token t, h_t the state of the LSTM there (of both directions, side by side)::

        y_t = argmax_j log softmax(A h_t + b)_j

    Paper: Huang et al., arXiv:1508.01991. Over words, forward alone (``tagger.bidirectional=false``), without CRF, this
    is the part-of-speech tagger of the PyTorch tutorial on sequence models. Deviations: no hand-made features;
    embeddings learnt from random starts; tokens that frame the window are read too; a title, where there is one,
    follows the window, told apart by a learnt vector for each segment.
    """

    tokeniser = CharacterTokeniser
    reads_words = True

    def __init__(self, n_tokens: int, scheme: TagScheme, config: TaggerConfig) -> None:
        super().__init__((2 if config.bidirectional else 1) * config.hidden_dim, scheme, config)
        self.tokens = nn.Embedding(n_tokens, config.embedding_dim)
        self.segments = nn.Embedding(2, config.embedding_dim)
        self.lstm = MaskedLSTM(config.embedding_dim, config.hidden_dim, bidirectional=config.bidirectional)

    @classmethod
    def fit_tokeniser(cls, texts: Iterable[str], config: TaggerConfig) -> Tokeniser:
        """Take the characters of the training texts."""
        return CharacterTokeniser.fit(texts)

    @classmethod
    def create(cls, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Start from random weights."""
        return cls(len(tokeniser), scheme, config)

    def states(self, batch: TagBatch) -> Tensor:
        """Return the directions side by side: (batch, seq_len, hidden_dim), or twice that with both."""
        embedded = self.dropout(self.tokens(batch.tokens) + self.segments(batch.segments))
        states, _ = self.lstm(embedded, batch.mask)
        return states
