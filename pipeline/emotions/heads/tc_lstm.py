"""TC-LSTM: TD-LSTM whose every word comes with the target's vector."""

from __future__ import annotations

from torch import Tensor

from pipeline.emotions.heads.td_lstm import TDLSTM
from pipeline.nn.batching import Batch
from pipeline.nn.layers import append_vector, target_mean


class TCLSTM(TDLSTM):
    """Target-connection LSTM.

    Paper: Tang et al., COLING 2016, arXiv:1512.01100. With w_l ... w_r the target in w_1 ... w_n::

        v = mean(w_l, ..., w_r)      x_i = [w_i; v]
        f = last state of LSTM_L(x_1, ..., x_r)      b = last state of LSTM_R(x_n, ..., x_l)
        logits = W [f; b] + b'

    Deviations: those of ``TDLSTM``; a target that is not in the text has a zero vector v.

    Inputs and output are those of ``TDLSTM``.
    """

    n_vectors = 2

    def words(self, batch: Batch) -> Tensor:
        """Return each word beside the mean of the target, (batch, seq_len, 2 * embedding_dim)."""
        embedded = self.embedder(batch)
        return append_vector(embedded, target_mean(embedded, batch))
