"""AT-LSTM: the target chooses which states of the context count."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import MaskedLSTM, TargetAttention, target_mean


class ATLSTM(Head):
    """Attention-based LSTM.

    Paper: Wang et al., EMNLP 2016, aclanthology.org/D16-1058. With w the word vectors of the context and v the
    target's::

        h_1 ... h_n = LSTM(w_1 ... w_n)      a = softmax(u tanh(W_h h + W_v v))
        logits = W_s tanh(W_p sum(a h) + W_x h_n) + b

    Deviations: the paper's M = tanh([W_h h; W_v v]) concatenates where this adds, which leaves v no effect (see
    ``TargetAttention``); v is the mean of the target's word vectors, where the paper learns an embedding for each
    aspect; dropout before the last layer.

    Inputs: ``mask`` (batch, seq_len), ``target`` (batch, target_len). Output: logits (batch, n_classes).
    """

    uses_target = True
    vectors_a_word: ClassVar[int] = 1
    """Vectors of the embedder's size in what the LSTM reads of a word."""

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = MaskedLSTM(self.vectors_a_word * embedder.dim, config.hidden_dim)
        self.attend = TargetAttention(self.lstm.dim, embedder.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim, n_classes)

    def lstm_input(self, words: Tensor, target: Tensor) -> Tensor:
        """Return what the LSTM reads, of words (batch, seq_len, dim) and target (batch, dim): the words alone."""
        return words

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the attention over the context."""
        embedded = self.embedder(batch)
        target = target_mean(embedded, batch)
        context, last = self.lstm(self.lstm_input(embedded, target), batch.mask)
        mixed, attention = self.attend(context, last, target, batch.mask)
        return HeadOutput(self.classify(self.dropout(mixed)), attention)
