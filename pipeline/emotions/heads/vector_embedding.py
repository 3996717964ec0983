"""Word vectors of a file as an embedder: kept, learnt further, or both."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from pipeline.nn.batching import Batch
from pipeline.nn.vocab import PADDING

Mode = Literal["static", "fine_tuned", "two_channel"]


class VectorEmbedding(nn.Module):
    """Embeddings that start from given vectors, with a learnt vector added to every mention of the target.

    ``two_channel`` puts vectors that stay and vectors that learn side by side (Kim, EMNLP 2014, arXiv:1408.5882).

    Input: a Batch (``tokens``, ``mentions``). Output: float32 (batch, seq_len, dim), dim twice that of the vectors
    with two channels.

    Args:
        vectors: float32 (n_tokens, vector_dim), a row per id.
        mode: what learns.
        dropout: of the vectors.
        marks_target: False for heads that are to see the text alone.
    """

    static: Tensor | None

    def __init__(self, vectors: Tensor, *, mode: Mode, dropout: float = 0.0, marks_target: bool = True) -> None:
        super().__init__()
        self.register_buffer("static", None if mode == "fine_tuned" else vectors.clone())
        self.tuned = (
            None
            if mode == "static"
            else nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=PADDING)
        )
        self.dim = vectors.shape[1] * (2 if mode == "two_channel" else 1)
        self.mark = nn.Parameter(torch.randn(self.dim) * 0.1) if marks_target else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Embed the context."""
        channels = [] if self.static is None else [self.static[batch.tokens]]
        if self.tuned is not None:
            channels.append(self.tuned(batch.tokens))
        states = torch.cat(channels, dim=-1)
        if self.mark is not None:
            states = states + self.mark * batch.mentions[..., None]
        dropped: Tensor = self.dropout(states)
        return dropped
