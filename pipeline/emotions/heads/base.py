"""What every sentiment head is: a batch in, one row of logits per example out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.nn.batching import Batch


class Embedder(Protocol):
    """Any module that turns a batch's tokens into vectors: random, word vectors, an encoder's states."""

    dim: int

    def __call__(self, batch: Batch) -> Tensor:
        """Return float32 (batch, seq_len, dim)."""
        ...


@dataclass(frozen=True)
class HeadOutput:
    """What a head says, and what it looked at."""

    logits: Tensor
    """float32 (batch, n_classes)."""
    attention: Tensor | None = None
    """float32 (batch, seq_len): weights over the context that sum to one; None for heads without attention."""


class Head(nn.Module, ABC):
    """Base of the heads. A row's logits depend on that row alone: not on padding, not on batch-mates.

    (In training, batch-mates count where an option asks for it: ``head.af_normalise`` batch.)

    Args:
        embedder: gives the vectors of the tokens; it is trained with the head where it has parameters.
        config: sizes and options.
        n_classes: 3 for the emotions; other label sets have their own.
    """

    uses_target: ClassVar[bool]
    """False for document baselines, which see the text alone."""
    needs_encoder: ClassVar[bool] = False
    """True for heads that read a pre-trained encoder, whatever ``head.embedding`` says."""
    takes_channels: ClassVar[bool] = False
    """True for heads to which two sets of vectors per token mean something."""
    takes_aspects: ClassVar[bool] = False
    """True for heads that ``head.aspect`` is for: their class takes ``n_aspects``, too."""

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__()
        self.embedder = embedder

    @abstractmethod
    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits with the attention behind them."""

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits, float32 (batch, n_classes)."""
        return self.explain(batch).logits
