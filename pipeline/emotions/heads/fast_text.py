"""FastText: the mean of token and bigram vectors, and a linear layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch

_MULTIPLIER = 116_049_371
"""Of fastText's own hash of n-grams."""


class FastText(Head):
    """Bag of tokens and bigrams; a document baseline, it does not look at the target.

    Paper: Joulin et al., EACL 2017, arXiv:1607.01759. With e the token vectors and b those of the n - 1 pairs of
    neighbours, shared by the pairs that fall into one of ``bigram_buckets``::

        z = (sum_i e_i + sum_i b_{hash(i, i+1)}) / (n + n - 1)      logits = W z + b

    With ``bigram_buckets`` 0 there are tokens alone. Deviations: dropout before the last layer; a full softmax, since
    a hierarchical one saves nothing with three classes.

    Inputs: ``tokens`` and ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.bigrams = nn.Embedding(config.bigram_buckets, embedder.dim) if config.bigram_buckets else None
        if self.bigrams is not None:
            # As fastText's, close to zero: a pair that was never trained on adds next to nothing.
            nn.init.uniform_(self.bigrams.weight, -1 / embedder.dim, 1 / embedder.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(embedder.dim, n_classes)

    def pool(self, embedded: Tensor, batch: Batch) -> Tensor:
        """Average the vectors of tokens and bigrams: (batch, seq_len, dim) -> (batch, dim), zero without tokens."""
        total, count = (embedded * batch.mask[..., None]).sum(1), batch.mask.sum(1, keepdim=True)
        if self.bigrams is not None:
            paired = batch.mask[:, 1:]  # a row's tokens stand first, so the one before is no padding either
            vectors = self.bigrams(bigram_ids(batch.tokens, self.bigrams.num_embeddings))
            total = total + (vectors * paired[..., None]).sum(1)
            count = count + paired.sum(1, keepdim=True)
        return total / count.clamp(min=1)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        return HeadOutput(self.classify(self.dropout(self.pool(self.embedder(batch), batch))))


def bigram_ids(tokens: Tensor, n_buckets: int) -> Tensor:
    """Hash each pair of neighbours to a bucket: int64 (batch, seq_len) -> (batch, seq_len - 1)."""
    return torch.remainder(tokens[:, :-1] * _MULTIPLIER + tokens[:, 1:], n_buckets)
