"""A pre-trained encoder as an embedder: every head can read its hidden states."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from pipeline.config import MAX_POSITIONS
from pipeline.nn.batching import Batch, Positions
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.encoders.state_cache import KeptStates
from pipeline.nn.encoders.states import hidden_states
from pipeline.nn.layers import gather

PAIR_TARGET_TOKENS = 32
"""Most tokens of a target that stand beside the context."""


class Framed(NamedTuple):
    """Rows as an encoder reads them."""

    tokens: Tensor
    """int64 (batch, framed_len)."""
    lengths: Tensor
    """int64 (batch,): tokens of each row, its padding follows."""
    segments: Tensor
    """int64 (batch, framed_len): 1 for the second text of a pair."""
    context: Tensor
    """int64 (batch,): the step at which each row's context begins."""


class EncoderStates(nn.Module):
    """The last hidden states of a transformers encoder, one per token of the context.

    A learnt vector is added to every mention of the target where ``marks_target`` says so, as in ``TokenEmbedding``.

    Args:
        encoder: maps ids, mask and segments to ``last_hidden_state``.
        special: ids of the tokens that frame a text.
        dropout: of the states of contexts.
        marks_target: False for heads that are to see the text alone, and for pairs.
        frozen: the encoder stays as it is, and is run without dropout.
        cache: keeps the states of a frozen encoder.
        in_bf16: run a frozen encoder in bfloat16.
    """

    def __init__(
        self,
        encoder: Any,
        special: SpecialIds,
        *,
        dropout: float = 0.0,
        marks_target: bool = True,
        frozen: bool = False,
        cache: KeptStates | None = None,
        in_bf16: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.special = special
        self.dim = int(encoder.config.hidden_size)
        self.frozen, self.cache, self.in_bf16 = frozen, cache, in_bf16
        self.mark = nn.Parameter(torch.randn(self.dim) * 0.1) if marks_target else None
        self.dropout = nn.Dropout(dropout)
        if frozen:
            encoder.requires_grad_(False)
            encoder.eval()

    def train(self, mode: bool = True) -> Self:
        """Set training mode; a frozen encoder stays in evaluation mode."""
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def forward(self, batch: Batch) -> Tensor:
        """Read ``[CLS] context [SEP]``: float32 (batch, seq_len, dim), zero at padding but for dropout and mark."""
        framed = self._framed(batch, *_nothing(batch))
        states = self._context(self._run(framed), framed, batch.mask)
        if self.mark is not None:
            states = states + self.mark * batch.mentions[..., None]
        dropped: Tensor = self.dropout(states)
        return dropped

    def pair(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Read ``[CLS] target [SEP] context [SEP]``: the first state (batch, dim), and (batch, seq_len, dim)."""
        index, mask = (part[:, :PAIR_TARGET_TOKENS] for part in (batch.target.index, batch.target.mask))
        framed = self._framed(batch, batch.tokens.gather(1, index), mask)
        states = self._run(framed)
        return states[:, 0], self._context(states, framed, batch.mask)

    def _framed(self, batch: Batch, target: Tensor, target_mask: Tensor) -> Framed:
        """Put special tokens around the contexts, after the targets (batch, target_len) if any row has a place."""
        size, device = len(batch), batch.tokens.device
        first, end = (torch.full((size, 1), i, device=device) for i in (self.special.first, self.special.separator))
        one = torch.ones((size, 1), dtype=torch.bool, device=device)
        with_target = target.shape[1] > 0
        parts = [(first, one), *([(target, target_mask), (end, one)] if with_target else [])]
        parts += [(batch.tokens, batch.mask), (end, one)]
        tokens, mask = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
        # Each row's own tokens first, in their order; its padding after.
        order = mask.int().argsort(dim=1, descending=True, stable=True)
        lengths, longest = mask.sum(1), int(mask.sum(1).max())
        tokens, mask = tokens.gather(1, order)[:, :longest], mask.gather(1, order)[:, :longest]
        context = 1 + (target_mask.sum(1) + 1 if with_target else torch.zeros_like(lengths))
        steps = torch.arange(longest, device=device)
        segments = ((steps >= context[:, None]) & mask).long() if with_target else torch.zeros_like(tokens)
        return Framed(tokens.masked_fill(~mask, self.special.padding), lengths, segments, context)

    def _context(self, states: Tensor, framed: Framed, mask: Tensor) -> Tensor:
        """Take the states of the contexts' tokens, zero at padding: (batch, seq_len, dim)."""
        steps = framed.context[:, None] + torch.arange(mask.shape[1], device=mask.device)
        return gather(states, Positions(steps.clamp(max=states.shape[1] - 1), mask))

    def _run(self, framed: Framed) -> Tensor:
        if not self.frozen:
            return self._encode(framed)
        device = framed.tokens.device
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=self.in_bf16):
            if self.cache is None:
                return self._encode(framed)
            return self.cache.rows(framed.tokens, framed.lengths, framed.segments, run=self._states)

    def _encode(self, framed: Framed) -> Tensor:
        mask = torch.arange(framed.tokens.shape[1], device=framed.tokens.device) < framed.lengths[:, None]
        return self._states(framed.tokens, mask, framed.segments)

    def _states(self, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        return hidden_states(self.encoder, tokens, mask, segments).float()


def longest_context(encoder: Any, *, pair: bool) -> int:
    """Return how many tokens of a context the encoder can read, special tokens and a target of a pair beside it."""
    longest = min(MAX_POSITIONS, getattr(encoder.config, "max_position_embeddings", MAX_POSITIONS))
    return longest - (3 + PAIR_TARGET_TOKENS if pair else 2)


def _nothing(batch: Batch) -> tuple[Tensor, Tensor]:
    nothing = batch.tokens[:, :0]
    return nothing, nothing.bool()
