"""Layers shared by heads and taggers. Masked means masked: what padding holds reaches no output."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.nn.batching import Batch, Positions
from pipeline.nn.vocab import PADDING


class TokenEmbedding(nn.Module):
    """Embeddings learnt from random starts, with a learnt vector added to every mention of the target.

    The mark is ours, not a paper's: a news context is several sentences that name more than one entity.

    ``marks_target`` False leaves it out, for heads that are to see the text alone.

    Input: a Batch (``tokens``, ``mentions``). Output: float32 (batch, seq_len, dim).
    """

    def __init__(self, n_tokens: int, dim: int, *, dropout: float = 0.0, marks_target: bool = True) -> None:
        super().__init__()
        self.dim = dim
        self.tokens = nn.Embedding(n_tokens, dim, padding_idx=PADDING)
        self.mark = nn.Parameter(torch.randn(dim) * 0.1) if marks_target else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Embed the context."""
        states: Tensor = self.tokens(batch.tokens)
        if self.mark is not None:
            states = states + self.mark * batch.mentions[..., None]
        dropped: Tensor = self.dropout(states)
        return dropped


Cell = Literal["lstm", "gru", "plain"]
CELLS: dict[Cell, type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]] = {"lstm": nn.LSTM, "gru": nn.GRU, "plain": nn.RNN}
"""Recurrent cells; ``plain`` is h_i = tanh(W x_i + U h_{i-1} + b)."""


class MaskedRNN(nn.Module):
    """A recurrent network over rows of unlike lengths. Masks hold a row's tokens first, its padding after.

    Rows are run padded, not packed: packing refuses empty rows, and on the CPU its gradient costs time in the square
    of the length (measured: six times as long at 140 tokens). Padding comes after a row's tokens, so it reaches none.

    Input: (batch, seq_len, dim) and bool (batch, seq_len). Output, of the last layer: the states
    (batch, seq_len, hidden), zero at padding, and the final state (batch, hidden), zero for a row without tokens. With
    ``bidirectional`` both directions stand side by side, and hidden is twice ``hidden_dim``; a layer above reads both.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, *, cell: Cell = "lstm", n_layers: int = 1, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.forwards = CELLS[cell](input_dim, hidden_dim, batch_first=True)
        self.backwards = CELLS[cell](input_dim, hidden_dim, batch_first=True) if bidirectional else None
        self.dim = hidden_dim * (2 if bidirectional else 1)
        self.above = (
            MaskedRNN(self.dim, hidden_dim, cell=cell, n_layers=n_layers - 1, bidirectional=bidirectional)
            if n_layers > 1
            else None
        )

    def forward(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Run over each row's own tokens."""
        states = self.forwards(inputs)[0] * mask[..., None]
        final = last_state(states, mask)
        if self.backwards is not None:
            reversed_states = self.backwards(reverse(inputs, mask))[0] * mask[..., None]
            final = torch.cat([final, last_state(reversed_states, mask)], dim=-1)
            states = torch.cat([states, reverse(reversed_states, mask) * mask[..., None]], dim=-1)
        if self.above is not None:
            upper: tuple[Tensor, Tensor] = self.above(states, mask)
            return upper
        return states, final


class MaskedLSTM(MaskedRNN):
    """A ``MaskedRNN`` of LSTM cells."""

    def __init__(self, input_dim: int, hidden_dim: int, *, n_layers: int = 1, bidirectional: bool = False) -> None:
        super().__init__(input_dim, hidden_dim, n_layers=n_layers, bidirectional=bidirectional)


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


def target_mean(embedded: Tensor, batch: Batch) -> Tensor:
    """Average the vectors (batch, seq_len, dim) of each row's target: (batch, dim)."""
    return masked_mean(gather(embedded, batch.target), batch.target.mask)


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Maximum of (batch, n, dim) over the n steps a bool (batch, n) mask keeps; zero where it keeps none."""
    highest = states.masked_fill(~mask[..., None], -torch.inf).amax(1)
    return highest.masked_fill(~mask.any(1, keepdim=True), 0.0)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax of (batch, n) over the steps that a bool (batch, n) mask keeps; all zero where it keeps none."""
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(1)
    return weights * mask


def weighted_sum(weights: Tensor, states: Tensor) -> Tensor:
    """Sum (batch, n, dim) over n with weights (batch, n): (batch, dim)."""
    return torch.einsum("bn,bnd->bd", weights, states)


def join(first: Positions, second: Positions) -> Positions:
    """Put the positions of two parts one after the other: each row's own ones first, its padding after.

    Args:
        first: indices and mask (batch, n).
        second: indices and mask (batch, m).

    Returns:
        Indices and mask (batch, n + m).
    """
    index, mask = torch.cat([first.index, second.index], dim=1), torch.cat([first.mask, second.mask], dim=1)
    order = mask.int().argsort(dim=1, descending=True, stable=True)
    return Positions(index.gather(1, order), mask.gather(1, order))


def append_vector(states: Tensor, vector: Tensor) -> Tensor:
    """Append a row's vector (batch, m) to each of its states (batch, n, dim): (batch, n, dim + m)."""
    return torch.cat([states, vector[:, None].expand(-1, states.shape[1], -1)], dim=-1)


class TwoSidedLSTM(nn.Module):
    """One LSTM from the left end to the target's last token, one from the right end back to its first token.

    Input: a vector per token (batch, seq_len, input_dim), and the Batch (``left``, ``target``, ``right``). Output: the
    last states of both, (batch, 2 * hidden_dim), left one first; half of it zero where a side has neither context nor
    target.

    The forget gates of every layer start open (bias 1, Jozefowicz et al., ICML 2015): the only way out is the state at
    the target, and in news, where that is often the title's mention, what tells the emotion lies dozens of characters
    away. At torch's start, half of a memory is gone after one step.
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, n_layers: int = 1) -> None:
        super().__init__()
        self.left = MaskedLSTM(input_dim, hidden_dim, n_layers=n_layers)
        self.right = MaskedLSTM(input_dim, hidden_dim, n_layers=n_layers)
        for name, bias in self.named_parameters():
            if name.endswith("bias_ih_l0"):
                nn.init.ones_(bias.data[hidden_dim : 2 * hidden_dim])
        self.dim = 2 * hidden_dim

    def forward(self, words: Tensor, batch: Batch) -> Tensor:
        """Read both sides towards the target."""
        left, right = join(batch.left, batch.target), join(batch.target, batch.right)
        _, from_left = self.left(gather(words, left), left.mask)
        _, from_right = self.right(reverse(gather(words, right), right.mask), right.mask)
        return torch.cat([from_left, from_right], dim=-1)


def sinusoidal_positions(n_positions: int, d_model: int) -> Tensor:
    """Return sines (even columns) and cosines (odd ones) of falling frequency: float32 (n_positions, d_model)."""
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    angles = torch.arange(n_positions)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d_model]  # an odd size ends on a sine


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention of every token to every token that is no padding."""

    def __init__(self, d_model: int, n_heads: int, *, dropout: float) -> None:
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.projection = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Mix states (batch, seq_len, d_model) under a bool mask (batch, seq_len)."""
        query, key, value = self._heads(states)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask[:, None, None], dropout_p=self.dropout if self.training else 0.0
        )
        attended: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return attended

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return softmax(Q K^T / sqrt(d_model / n_heads)): (batch, n_heads, seq_len, seq_len), a row for each query."""
        query, key, _ = self._heads(states)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        return scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1)

    def _heads(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        # (batch, seq_len, 3 * d_model) -> 3 of (batch, n_heads, seq_len, d_model / n_heads)
        split = self.projection(states).unflatten(-1, (3, self.n_heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)
        return query, key, value


class EncoderLayer(nn.Module):
    """Attention, then a position-wise feed-forward network, each with residual and layer normalisation after it."""

    def __init__(self, d_model: int, n_heads: int, feed_forward_dim: int, *, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, feed_forward_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(feed_forward_dim, d_model)
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Transform states (batch, seq_len, d_model)."""
        states = self.attention_norm(states + self.dropout(self.attention(states, mask)))
        transformed: Tensor = self.feed_forward_norm(states + self.dropout(self.feed_forward(states)))
        return transformed
