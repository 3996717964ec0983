"""What every matcher is: a batch of text pairs in, one logit per pair out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.config import RelevanceConfig
from pipeline.nn.vocab import PADDING


@dataclass(frozen=True)
class Side:
    """One text of each pair, padded to one length."""

    tokens: Tensor
    """int64 (batch, seq_len): ``PADDING`` at padding."""
    mask: Tensor
    """bool (batch, seq_len): a row's tokens first, its padding after."""

    @classmethod
    def of(cls, rows: Sequence[np.ndarray]) -> Side:
        """Pad rows of token ids, int64 (n_tokens,) each; a row may be empty."""
        lengths = torch.tensor([len(row) for row in rows])
        tokens = np.full((len(rows), max(1, int(lengths.max()))), PADDING, dtype=np.int64)
        for padded, row in zip(tokens, rows, strict=True):
            padded[: len(row)] = row
        return cls(torch.from_numpy(tokens), torch.arange(tokens.shape[1]) < lengths[:, None])

    def to(self, device: torch.device) -> Side:
        """Return the side on a device."""
        return Side(self.tokens.to(device), self.mask.to(device))


@dataclass(frozen=True)
class PairBatch:
    """Pairs of texts; ``left`` and ``right`` are padded each to a length of its own."""

    left: Side
    right: Side
    labels: Tensor | None = None
    """float32 (batch,), in training: 1 where the texts belong together, else 0."""

    def __len__(self) -> int:
        return len(self.left.tokens)

    def to(self, device: torch.device) -> PairBatch:
        """Return the batch on a device."""
        labels = None if self.labels is None else self.labels.to(device)
        return PairBatch(self.left.to(device), self.right.to(device), labels)


class Matcher(nn.Module, ABC):
    """Base of the matchers. In evaluation a pair's logit depends on that pair alone.

    Every matcher gives logits; similarity = sigmoid(logit), in (0, 1), and distance = -log(similarity) follow from
    them. So each of the losses in ``pipeline.entities.relevance.matchers.losses`` fits every matcher, but for the one
    that reads the distance of two encodings: ``distance_of`` gives it, where there are any.

    Args:
        n_tokens: number of token ids.
        config: sizes and dropout.
    """

    def __init__(self, n_tokens: int, config: RelevanceConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, config.embedding_dim, padding_idx=PADDING)
        self.dropout = nn.Dropout(config.dropout)

    @abstractmethod
    def forward(self, batch: PairBatch) -> Tensor:
        """Return the logits, float32 (batch,)."""

    def similarity(self, batch: PairBatch) -> Tensor:
        """Return how well each pair belongs together, float32 (batch,), 0 to 1."""
        logits: Tensor = self(batch)
        return logits.sigmoid()

    def distance_of(self, logits: Tensor) -> Tensor:
        """Return the distance of the two encodings, float32 (batch,), from the logits that it gave.

        Raises:
            TypeError: the matcher has no two encodings with a distance.
        """
        raise TypeError(f"{type(self).__name__} has no distance of two encodings")

    def embed(self, side: Side) -> Tensor:
        """Return the vectors of one text of each pair, float32 (batch, seq_len, embedding_dim)."""
        vectors: Tensor = self.dropout(self.embedding(side.tokens))
        return vectors
