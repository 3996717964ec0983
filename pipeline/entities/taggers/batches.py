"""Batches of windows as tensors, for the networks of torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

from pipeline.entities.taggers.window_batches import WindowBatch, WindowBatches


@dataclass(frozen=True)
class TagBatch:
    """A ``WindowBatch`` in tensors: the same fields, types and shapes."""

    tokens: Tensor
    mask: Tensor
    segments: Tensor
    window: Tensor
    rows: Tensor
    tags: Tensor | None = None

    @classmethod
    def of(cls, batch: WindowBatch) -> Self:
        """Take over the arrays of a batch."""
        present = {field.name: getattr(batch, field.name) for field in fields(batch)}
        return cls(**{name: torch.from_numpy(part) for name, part in present.items() if part is not None})

    def to(self, device: torch.device) -> TagBatch:
        """Return the batch on a device."""
        present = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: part.to(device) for name, part in present.items() if part is not None})


class TagBatches(WindowBatches):
    """What the training loop goes through."""

    def epoch(self, number: int = 0) -> Iterator[TagBatch]:
        """Yield the windows of an epoch; they depend on the seed and the epoch's number alone."""
        return map(TagBatch.of, self.window_batches(number))
