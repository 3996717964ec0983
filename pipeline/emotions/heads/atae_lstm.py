"""ATAE-LSTM: AT-LSTM whose every word comes with the target's vector."""

from __future__ import annotations

from torch import Tensor

from pipeline.emotions.heads.at_lstm import ATLSTM
from pipeline.nn.layers import append_vector


class ATAELSTM(ATLSTM):
    """Attention-based LSTM with aspect embedding.

    Paper: Wang et al., EMNLP 2016, aclanthology.org/D16-1058. With w the word vectors of the context and v the
    target's::

        h_1 ... h_n = LSTM([w_1; v] ... [w_n; v])      a = softmax(u tanh(W_h h + W_v v))
        logits = W_s tanh(W_p sum(a h) + W_x h_n) + b

    Deviations: those of ``ATLSTM``, from which it differs in what its LSTM reads.

    Inputs and output are those of ``ATLSTM``.
    """

    vectors_a_word = 2

    def lstm_input(self, words: Tensor, target: Tensor) -> Tensor:
        """Return each word (batch, seq_len, dim) with the target (batch, dim) behind it: (batch, seq_len, 2 * dim)."""
        return append_vector(words, target)
