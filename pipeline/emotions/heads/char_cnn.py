"""CharCNN: convolutions over characters, six layers deep."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import masked_max

LAYERS = ((7, 3), (7, 3), (3, 1), (3, 1), (3, 1), (3, 1))
"""Filter size and pooling width of each layer, the paper's; the last pooling is over the whole text here."""


class CharCNN(Head):
    """Character-level convolutional network; a document baseline, it does not look at the target.

    Paper: Zhang et al., NeurIPS 2015, arXiv:1509.01626. Six layers of filters of sizes 7, 7, 3, 3, 3, 3 over the
    characters x; the first two take the maximum of every three steps::

        y_l = pool_l(relu(W_l * y_{l-1} + b_l)),  y_0 = x      logits = W' relu(W max_i y_6i + b) + b'

    Deviations: smaller, with ``hidden_dim`` filters a layer, where the paper has 256 or 1024, and one hidden layer of
    ``hidden_dim`` after them, where it has two of 1024 or 2048; vectors from the embedder, where it has one-hot rows of
    70 Latin characters, since Chinese has thousands (a run of Latin letters is one token); texts keep their length,
    with zeros around them, where it fills or cuts them to 1014, so the last pooling is over all steps that are left;
    filters start as He et al. (2015) have it, so that six layers neither fade nor swell, where it has one deviation.

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        hidden = config.hidden_dim
        self.convolutions = nn.ModuleList(
            nn.Conv1d(hidden if layer else embedder.dim, hidden, size, padding=size // 2)
            for layer, (size, _) in enumerate(LAYERS)
        )
        for name, parameter in self.convolutions.named_parameters():
            if name.endswith("weight"):
                nn.init.kaiming_normal_(parameter, nonlinearity="relu")
            else:
                nn.init.zeros_(parameter)
        self.hidden = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(hidden, n_classes)

    def features(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return each filter's highest answer in the last layer: (batch, seq_len, dim) -> (batch, hidden_dim)."""
        states = embedded * mask[..., None]
        for convolve, (_, width) in zip(self.convolutions, LAYERS, strict=True):
            answers = torch.relu(convolve(states.transpose(1, 2))).transpose(1, 2)
            states, mask = pool_every(answers, mask, width)
        return masked_max(states, mask)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        hidden = torch.relu(self.hidden(self.features(self.embedder(batch), batch.mask)))
        return HeadOutput(self.classify(self.dropout(hidden)))


def pool_every(states: Tensor, mask: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Take the maximum of every ``width`` steps, the last ones fewer, of those that the mask keeps.

    (batch, n, dim) and bool (batch, n) -> (batch, ceil(n / width), dim), zero where masked, and its mask.
    """
    missing = -mask.shape[1] % width
    steps = functional.pad(mask, (0, missing)).unflatten(1, (-1, width))
    windows = functional.pad(states, (0, 0, 0, missing)).unflatten(1, (-1, width))
    pooled = masked_max(windows.flatten(0, 1), steps.flatten(0, 1)).unflatten(0, steps.shape[:2])
    return pooled, steps.any(2)
