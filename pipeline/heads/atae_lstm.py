"""ATAE-LSTM: AT-LSTM whose every word comes with the target's vector."""

from __future__ import annotations

from torch import nn

from pipeline.batching import Batch
from pipeline.config import HeadConfig
from pipeline.heads.base import Embedder, Head, HeadOutput
from pipeline.heads.layers import MaskedLSTM, TargetAttention, append_vector, gather, masked_mean


class ATAELSTM(Head):
    """Attention-based LSTM with aspect embedding.

    Paper: Wang et al., EMNLP 2016, aclanthology.org/D16-1058. With w the word vectors of the context and v the
    target's::

        h_1 ... h_n = LSTM([w_1; v] ... [w_n; v])      a = softmax(u tanh(W_h h + W_v v))
        logits = W_s tanh(W_p sum(a h) + W_x h_n) + b

    Deviations: the paper's M = tanh([W_h h; W_v v]) concatenates where this adds, which leaves W_v no effect (see
    ``TargetAttention``); v is the mean of the target's word vectors, where the paper learns an embedding for each
    aspect; dropout before the last layer.

    Inputs: ``mask`` (batch, seq_len), ``target`` (batch, target_len). Output: logits (batch, n_classes).
    """

    inputs = ("mask", "target")
    uses_target = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = MaskedLSTM(2 * embedder.dim, config.hidden_dim)
        self.attend = TargetAttention(self.lstm.dim, embedder.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the attention over the context."""
        embedded = self.embedder(batch)
        target = masked_mean(gather(embedded, batch.target), batch.target.mask)
        context, last = self.lstm(append_vector(embedded, target), batch.mask)
        mixed, attention = self.attend(context, last, target, batch.mask)
        return HeadOutput(self.classify(self.dropout(mixed)), attention)
