"""LSTM: the last state of the whole context, whatever the target."""

from __future__ import annotations

from torch import nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.recurrent import recurrent
from pipeline.nn.batching import Batch


class LSTM(Head):
    """Plain LSTM, the baseline without a target.

    Paper: Tang et al., COLING 2016, arXiv:1512.01100. With w the word vectors of the context::

        h_1 ... h_n = LSTM(w_1 ... w_n)      logits = W h_n + b

    Deviation: dropout before the last layer. The head reads no target, but an embedder that marks mentions
    (``TokenEmbedding``) lets it see where they are, which the paper's word vectors do not. The paper's LSTM has one
    layer and reads forwards.

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = recurrent(embedder.dim, config)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        _, last = self.lstm(self.embedder(batch), batch.mask)
        return HeadOutput(self.classify(self.dropout(last)))
