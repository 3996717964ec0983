"""TC-LSTM: TD-LSTM whose every word comes with the target's vector."""

from __future__ import annotations

from torch import nn

from pipeline.batching import Batch
from pipeline.config import HeadConfig
from pipeline.heads.base import Embedder, Head, HeadOutput
from pipeline.heads.layers import TwoSidedLSTM, append_vector, target_mean


class TCLSTM(Head):
    """Target-connection LSTM.

    Paper: Tang et al., COLING 2016, arXiv:1512.01100. With w_l ... w_r the target in w_1 ... w_n::

        v = mean(w_l, ..., w_r)      x_i = [w_i; v]
        f = last state of LSTM_L(x_1, ..., x_r)      b = last state of LSTM_R(x_n, ..., x_l)
        logits = W [f; b] + b'

    Deviations: forget gates that start open (see ``TwoSidedLSTM``); dropout before the last layer; a
    target that is not in the text has a zero vector v and stands, empty, at the place that the batch gives it; a side
    without any token has a zero state.

    Inputs: ``left``, ``right`` (batch, at most seq_len), ``target`` (batch, target_len). Output: logits
    (batch, n_classes).
    """

    inputs = ("left", "target", "right")
    uses_target = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = TwoSidedLSTM(2 * embedder.dim, config.hidden_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        embedded = self.embedder(batch)
        target = target_mean(embedded, batch)
        return HeadOutput(self.classify(self.dropout(self.lstm(append_vector(embedded, target), batch))))
