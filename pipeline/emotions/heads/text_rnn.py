"""TextRNN: the last states of an LSTM in both directions."""

from __future__ import annotations

from torch import nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.recurrent import recurrent
from pipeline.nn.batching import Batch


class TextRNN(Head):
    """Recurrent network; a document baseline, it does not look at the target.

    Paper: Liu et al., IJCAI 2016, arXiv:1605.05101, its single-task network. With x the token vectors::

        h_i = LSTM(x_i, h_{i-1})      g_i = LSTM'(x_i, g_{i+1})      logits = W [h_n; g_1] + b

    Deviations: both directions, as usual since, where the paper reads forwards only (``head.directions`` one); dropout
    before the last layer. The paper's cell is the LSTM, in one layer.

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = recurrent(embedder.dim, config, cell=config.cell, both=True)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        _, final = self.lstm(self.embedder(batch), batch.mask)
        return HeadOutput(self.classify(self.dropout(final)))
