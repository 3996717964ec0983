"""AT-LSTM: the target chooses which states of the context count."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.recurrent import recurrent
from pipeline.emotions.heads.target_attention import ATTENTIONS
from pipeline.nn.batching import Batch
from pipeline.nn.layers import target_mean
from pipeline.nn.vocab import UNKNOWN


class ATLSTM(Head):
    """Attention-based LSTM.

    Paper: Wang et al., EMNLP 2016, aclanthology.org/D16-1058. With w the word vectors of the context and v the
    target's::

        h_1 ... h_n = LSTM(w_1 ... w_n)      a = softmax(u tanh(W_h h + W_v v))
        logits = W_s tanh(W_p sum(a h) + W_x h_n) + b

    As in the paper: ``head.aspect`` table learns a vector v for each target of training; ``head.at_attention``
    concatenated has M = tanh([W_h h; W_v v]), which leaves v no effect on the attention (``ConcatenatedAttention`` says
    why). Deviations: by default v is the mean of the target's word vectors, and the attention adds; dropout before the
    last layer. The paper's LSTM has one layer and reads forwards; with ``head.directions`` both, h_n holds the last
    state of each direction.

    Inputs: ``mask`` (batch, seq_len), and ``target`` (batch, target_len) or ``aspects`` (batch,). Output: logits
    (batch, n_classes).

    Args:
        n_aspects: ids of aspects, that of the unknown one included; for ``head.aspect`` table.
    """

    uses_target = True
    takes_aspects = True
    vectors_a_word: ClassVar[int] = 1
    """Vectors of the embedder's size in what the LSTM reads of a word."""

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3, n_aspects: int = 0) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = recurrent(self.vectors_a_word * embedder.dim, config)
        self.attend = ATTENTIONS[config.at_attention](self.lstm.dim, embedder.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.lstm.dim, n_classes)
        self.aspects = nn.Embedding(max(n_aspects, UNKNOWN + 1), embedder.dim) if config.aspect == "table" else None
        if self.aspects is not None:
            nn.init.zeros_(self.aspects.weight.data[UNKNOWN])  # says nothing, unless rare targets teach it to

    def lstm_input(self, words: Tensor, target: Tensor) -> Tensor:
        """Return what the LSTM reads, of words (batch, seq_len, dim) and target (batch, dim): the words alone."""
        return words

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the attention over the context."""
        embedded = self.embedder(batch)
        target = target_mean(embedded, batch) if self.aspects is None else self.aspects(batch.aspects)
        context, last = self.lstm(self.lstm_input(embedded, target), batch.mask)
        mixed, attention = self.attend(context, last, target, batch.mask)
        return HeadOutput(self.classify(self.dropout(mixed)), attention)
