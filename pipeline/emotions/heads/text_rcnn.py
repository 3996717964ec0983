"""TextRCNN: each token between what was read before and after it, then the maximum over the tokens."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import MaskedRNN, masked_max


class TextRCNN(Head):
    """Recurrent convolutional network; a document baseline, it does not look at the target.

    Paper: Lai et al., AAAI 2015. With e the token vectors, l_i what was read left of token i, r_i right of it::

        y_i = tanh(W_2 [l_i; e_i; r_i] + b_2)      logits = W_4 max_i y_i + b_4

    ``head.cell`` plain is the paper's recurrence, l_i = f(W_l l_{i-1} + W_sl e_{i-1}), its equations 1 and 2, with tanh
    for f and a bias. Deviations: by default l and r are states of LSTMs; they start from zero, where the paper learns
    the first; dropout before the last layer. One layer each way, whatever ``head.recurrent_layers`` says: above it,
    what was read left of a token would know what stands right of it.

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = MaskedRNN(embedder.dim, config.hidden_dim, cell=config.cell, bidirectional=True)
        self.mix = nn.Linear(self.lstm.dim + embedder.dim, config.hidden_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(config.hidden_dim, n_classes)

    def surround(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return [l; e; r] of each token, zero at padding: (batch, seq_len, lstm.dim + dim)."""
        states, _ = self.lstm(embedded, mask)
        forwards, backwards = states.chunk(2, dim=-1)
        left = functional.pad(forwards, (0, 0, 1, -1))  # the state after the token before
        right = functional.pad(backwards, (0, 0, -1, 1))
        return torch.cat([left, embedded, right], dim=-1) * mask[..., None]

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        latent = torch.tanh(self.mix(self.surround(self.embedder(batch), batch.mask)))
        return HeadOutput(self.classify(self.dropout(masked_max(latent, batch.mask))))
