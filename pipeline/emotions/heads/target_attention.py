"""The attention of AT-LSTM and ATAE-LSTM over the states of a context, in two forms."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.nn.layers import append_vector, masked_softmax, weighted_sum


class TargetAttention(nn.Module):
    """Attention under the target's vector, which is added: the form that lets the target choose.

    With h the states and v the target::

        a = softmax(w tanh(W_h h + W_v v))      out = tanh(W_p sum(a h) + W_x h_last)

    Wang et al. (EMNLP 2016) concatenate where this adds; ``ConcatenatedAttention`` is their form, and says what it
    cannot do.

    Input: states (batch, seq_len, hidden), last state (batch, hidden), target (batch, target_dim) and bool mask
    (batch, seq_len). Output: (batch, hidden), and the weights a (batch, seq_len), zero where masked.
    """

    def __init__(self, hidden: int, target_dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.query = nn.Linear(target_dim, self.query_dim(hidden, target_dim), bias=False)
        self.score = nn.Linear(self.score_dim(hidden, target_dim), 1, bias=False)
        self.attended = nn.Linear(hidden, hidden, bias=False)
        self.last = nn.Linear(hidden, hidden, bias=False)

    @staticmethod
    def query_dim(hidden: int, target_dim: int) -> int:
        """Return the size of W_v v."""
        return hidden

    @staticmethod
    def score_dim(hidden: int, target_dim: int) -> int:
        """Return the size of what w weighs."""
        return hidden

    def meet(self, states: Tensor, target: Tensor) -> Tensor:
        """Bring states (batch, seq_len, hidden) and target (batch, target_dim) together, before the tanh."""
        met: Tensor = self.key(states) + self.query(target)[:, None]
        return met

    def forward(self, states: Tensor, last: Tensor, target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Attend to the states and mix what was found with the last one."""
        scores = self.score(torch.tanh(self.meet(states, target))).squeeze(-1)
        attention = masked_softmax(scores, mask)
        return torch.tanh(self.attended(weighted_sum(attention, states)) + self.last(last)), attention


class ConcatenatedAttention(TargetAttention):
    """The attention as Wang et al. (EMNLP 2016) print it, their equations 7 to 10.

    With h the states and v the target's vector, e_N making a copy of it for every token::

        M = tanh([W_h h; W_v v e_N])      a = softmax(w M)      out = tanh(W_p sum(a h) + W_x h_last)

    The tanh works on each number by itself, so the score of token i falls apart:
    w M_i = w_1 tanh(W_h h_i) + w_2 tanh(W_v v), with w = [w_1; w_2]. The second term is the same at every token, and a
    softmax does not change when one number is added to all its scores. So, given the states, neither a nor ``out``
    depends on v; W_v and w_2 get no gradient, and neither does v by this way. What the target may still do, it does
    through h: in ATAE-LSTM, whose LSTM reads v with every word, and in both where an embedder marks the mentions.

    Input and output are those of ``TargetAttention``.
    """

    @staticmethod
    def query_dim(hidden: int, target_dim: int) -> int:
        """Return the size of W_v v: W_v is square in the paper."""
        return target_dim

    @staticmethod
    def score_dim(hidden: int, target_dim: int) -> int:
        """Return the size of what w weighs: both parts."""
        return hidden + target_dim

    def meet(self, states: Tensor, target: Tensor) -> Tensor:
        """Put W_h h and W_v v side by side: (batch, seq_len, hidden + target_dim)."""
        return append_vector(self.key(states), self.query(target))


ATTENTIONS = {"added": TargetAttention, "concatenated": ConcatenatedAttention}
"""By ``head.at_attention``."""
