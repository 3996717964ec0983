"""TextCNN: filters over windows of tokens, the highest answer of each."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import masked_max


class TextCNN(Head):
    """Convolutional network for sentences; a document baseline, it does not look at the target.

    Paper: Kim, EMNLP 2014, arXiv:1408.5882. With x the token vectors, for each of ``n_filters`` filters of each size h
    in ``filter_sizes``::

        c_i = relu(w . [x_i; ...; x_{i+h-1}] + b)      z = max_i c_i      logits = W dropout(z) + b

    A text shorter than h has one window, filled up with zeros; no other window reaches beyond the text.

    How the vectors start and whether they learn is the embedder's matter: random vectors give the paper's CNN-rand,
    word vectors CNN-static, CNN-non-static (``fine_tuned``) and CNN-multichannel (``two_channel``: x_i holds both
    vectors of a token, so a filter has weights for each channel and adds its answers to the two). Deviations: weight
    decay by the optimiser, where the paper bounds the norm of W.

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False
    takes_channels = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedder.dim, config.n_filters, kernel_size=size) for size in config.filter_sizes
        )
        self.sizes = tuple(config.filter_sizes)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(config.n_filters * len(self.sizes), n_classes)

    def pool(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return each filter's highest answer: (batch, seq_len, dim) -> (batch, n_filters * number of sizes)."""
        channels_first = (embedded * mask[..., None]).transpose(1, 2)
        pooled = []
        for convolve, size in zip(self.convolutions, self.sizes, strict=True):
            answers = torch.relu(convolve(functional.pad(channels_first, (0, size - 1))))
            pooled.append(masked_max(answers.transpose(1, 2), window_starts(mask, size)))
        return torch.cat(pooled, dim=1)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        features = self.pool(self.embedder(batch), batch.mask)
        return HeadOutput(self.classify(self.dropout(features)))


def window_starts(mask: Tensor, size: int) -> Tensor:
    """Mark where a window of ``size`` tokens starts: bool (batch, seq_len), at least one in a row with tokens."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    return mask & (steps < (mask.sum(1, keepdim=True) - size + 1).clamp(min=1))
