"""TD-LSTM: two LSTMs read the text from its ends towards the target."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import TwoSidedLSTM


class TDLSTM(Head):
    """Target-dependent LSTM.

    Paper: Tang et al., COLING 2016, arXiv:1512.01100. With w_l ... w_r the target in w_1 ... w_n::

        f = last state of LSTM_L(w_1, ..., w_r)      b = last state of LSTM_R(w_n, ..., w_l)
        logits = W [f; b] + b'

    ``head.td_states`` takes f + b or their average instead, which the paper names as alternatives. The paper's LSTMs
    have one layer. Deviations: forget gates that start open (see ``TwoSidedLSTM``); dropout before the last layer; a
    target that is not in the text stands, empty, at the place that the batch gives it, and a side without any token
    has a zero state.

    Inputs: ``left``, ``right`` (batch, at most seq_len), ``target`` (batch, target_len). Output: logits
    (batch, n_classes).
    """

    uses_target = True
    n_vectors: ClassVar[int] = 1
    """Vectors side by side that make a word, each of the embedder's size."""

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = TwoSidedLSTM(self.n_vectors * embedder.dim, config.hidden_dim, n_layers=config.recurrent_layers)
        self.join = config.td_states
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim if self.join == "concatenation" else config.hidden_dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        return HeadOutput(self.classify(self.dropout(self.joined(self.lstm(self.words(batch), batch)))))

    def joined(self, pair: Tensor) -> Tensor:
        """Join the final states [f; b], (batch, 2 * hidden_dim): as they are, or (batch, hidden_dim)."""
        if self.join == "concatenation":
            return pair
        total = torch.stack(pair.chunk(2, dim=-1)).sum(0)
        return total if self.join == "sum" else total / 2

    def words(self, batch: Batch) -> Tensor:
        """Return what the LSTMs read of each word, (batch, seq_len, n_vectors * embedding_dim)."""
        return self.embedder(batch)
