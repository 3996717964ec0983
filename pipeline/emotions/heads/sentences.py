"""A batch of contexts cut into sentences, each a row of its own."""

from __future__ import annotations

from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional

LONGEST_SENTENCE = 128
"""Tokens; what runs on without a full stop is cut there, so that no text is laid out at the square of its length."""


class SentenceGrid(NamedTuple):
    """Where each token of a batch stands in a grid of n sentences of at most m tokens for each text."""

    slots: Tensor
    """int64 (batch, seq_len): sentence * m + token; n * m at padding."""
    mask: Tensor
    """bool (batch, n, m): whether a token stands there; a text's sentences come first."""

    @classmethod
    def of(cls, sentences: Tensor, mask: Tensor, *, longest: int) -> Self:
        """Lay sentences out.

        Args:
            sentences: int64 (batch, seq_len), another number for another sentence.
            mask: bool (batch, seq_len).
            longest: most tokens of a sentence; a longer one goes on in the next.
        """
        steps = torch.arange(mask.shape[1], device=mask.device)
        is_first = functional.pad(sentences[:, 1:] != sentences[:, :-1], (1, 0), value=True)
        start = torch.where(is_first, steps, 0).cummax(1).values
        token = (steps - start) % longest
        sentence = (token == 0).cumsum(1) - 1
        n, m = (int(part.masked_fill(~mask, 0).max()) + 1 for part in (sentence, token))
        slots = (sentence * m + token).masked_fill(~mask, n * m)
        grid = torch.zeros((len(mask), n * m + 1), dtype=torch.bool, device=mask.device).scatter(1, slots, mask)
        return cls(slots, grid[:, :-1].unflatten(1, (n, m)))

    def lay_out(self, states: Tensor) -> Tensor:
        """Put (batch, seq_len, dim) into the grid: (batch, n, m, dim), zero where no token stands."""
        batch, n, m = self.mask.shape
        grid = states.new_zeros((batch, n * m + 1, states.shape[-1]))
        return grid.scatter(1, self.slots[..., None].expand_as(states), states)[:, :-1].unflatten(1, (n, m))

    def take_back(self, values: Tensor) -> Tensor:
        """Take a value for each token out of the grid: (batch, n, m) -> (batch, seq_len), zero at padding."""
        return functional.pad(values.flatten(1), (0, 1)).gather(1, self.slots)
