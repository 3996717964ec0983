"""Layers shared by the heads. Masked means masked: what padding holds reaches no output."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.batching import Batch, Positions
from pipeline.vocab import PADDING


class TokenEmbedding(nn.Module):
    """Embeddings learnt from random starts, with a learnt vector added to every mention of the target.

    The mark is ours, not a paper's: a news context is several sentences that name more than one entity.

    Input: a Batch (``tokens``, ``mentions``). Output: float32 (batch, seq_len, dim).
    """

    def __init__(self, n_tokens: int, dim: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dim = dim
        self.tokens = nn.Embedding(n_tokens, dim, padding_idx=PADDING)
        self.mark = nn.Parameter(torch.randn(dim) * 0.1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Embed the context."""
        states: Tensor = self.dropout(self.tokens(batch.tokens) + self.mark * batch.mentions[..., None])
        return states


class MaskedLSTM(nn.Module):
    """An LSTM over rows of unlike lengths. Masks hold a row's tokens first, its padding after.

    Rows are run padded, not packed: packing refuses empty rows, and on the CPU its gradient costs time in the square
    of the length (measured: six times as long at 140 tokens). Padding comes after a row's tokens, so it reaches none.

    Input: (batch, seq_len, dim) and bool (batch, seq_len). Output: the states (batch, seq_len, hidden), zero at
    padding, and the final state (batch, hidden), zero for a row without tokens. With ``bidirectional`` both directions
    stand side by side, and hidden is twice ``hidden_dim``.
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.forwards = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        self.backwards = nn.LSTM(input_dim, hidden_dim, batch_first=True) if bidirectional else None
        self.dim = hidden_dim * (2 if bidirectional else 1)

    def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Run over each row's own tokens."""
        states = self.forwards(inputs)[0] * mask[..., None]
        final = last_state(states, mask)
        if self.backwards is not None:
            reversed_states = self.backwards(reverse(inputs, mask))[0] * mask[..., None]
            final = torch.cat([final, last_state(reversed_states, mask)], dim=-1)
            states = torch.cat([states, reverse(reversed_states, mask) * mask[..., None]], dim=-1)
        return states, final


def last_state(states: Tensor, mask: Tensor) -> Tensor:
    """Take the state of each row's last token: (batch, seq_len, dim) -> (batch, dim), zero for a row without tokens."""
    last = (mask.sum(1) - 1).clamp(min=0)
    return states[torch.arange(len(states), device=states.device), last] * mask.any(1, keepdim=True)


def reverse(states: Tensor, mask: Tensor) -> Tensor:
    """Reverse the order of each row's own tokens; what stands at padding is unspecified."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    return states.gather(1, (mask.sum(1, keepdim=True) - 1 - steps).clamp(min=0)[..., None].expand_as(states))


def gather(states: Tensor, positions: Positions) -> Tensor:
    """Take the states at some positions of each row.

    Args:
        states: (batch, seq_len, dim).
        positions: indices and mask (batch, n).

    Returns:
        (batch, n, dim), zero where masked.
    """
    index = positions.index[..., None].expand(-1, -1, states.shape[-1])
    return states.gather(1, index) * positions.mask[..., None]


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Average (batch, n, dim) over the n steps a bool (batch, n) mask keeps; zero where it keeps none."""
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax of (batch, n) over the steps that a bool (batch, n) mask keeps; all zero where it keeps none."""
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(1)
    return weights * mask


def weighted_sum(weights: Tensor, states: Tensor) -> Tensor:
    """Sum (batch, n, dim) over n with weights (batch, n): (batch, dim)."""
    return torch.einsum("bn,bnd->bd", weights, states)
