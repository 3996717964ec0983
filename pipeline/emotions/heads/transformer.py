"""Transformer: self-attention from random weights, then the mean of the tokens."""

from __future__ import annotations

from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import EncoderLayer, masked_mean, sinusoidal_positions


class Transformer(Head):
    """Transformer encoder; a document baseline, it does not look at the target.

    Paper: Vaswani et al., NeurIPS 2017, arXiv:1706.03762, encoder half. With x the token vectors and p the sinusoidal
    positions, each of ``n_layers`` layers being attention of ``n_heads`` heads and a feed-forward network::

        y_0 = W_0 x + b_0 + p      y_l = layer_l(y_{l-1})      logits = W mean_i y_i + b

    The states have dim = ``n_heads`` * ``hidden_dim``, the feed-forward networks four times that, as in the paper.
    Deviations: the paper translates, so the mean over the tokens and the classifier are ours; W_0 brings the vectors
    of any embedder to dim, and to the size of p, for which the paper multiplies its own by sqrt(dim).

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes).
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.dim = config.n_heads * config.hidden_dim
        self.project = nn.Linear(embedder.dim, self.dim)
        self.layers = nn.ModuleList(
            EncoderLayer(self.dim, config.n_heads, 4 * self.dim, dropout=config.dropout) for _ in range(config.n_layers)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.dim, n_classes)

    def states(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return the states of the last layer: (batch, seq_len, dim); what stands at padding is unspecified."""
        positions = sinusoidal_positions(mask.shape[1], self.dim).to(embedded)
        states: Tensor = self.dropout(self.project(embedded) + positions)
        seen = mask.clone()
        seen[:, 0] = True  # a row without tokens attends to one padding, for a softmax of nothing is not a number
        for layer in self.layers:
            states = layer(states, seen)
        return states

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; the attention of many heads in many layers is not told."""
        pooled = masked_mean(self.states(self.embedder(batch), batch.mask), batch.mask)
        return HeadOutput(self.classify(self.dropout(pooled)))
