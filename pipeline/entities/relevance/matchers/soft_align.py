"""Soft alignment: each token of one text is compared with what the other text says about it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch
from pipeline.entities.relevance.matchers.feed_forward import FeedForward
from pipeline.nn.layers import Cell, MaskedRNN, masked_max, masked_mean


class SoftAlign(Matcher):
    """Two LSTM layers with mutual attention between the texts in the middle.

    Paper: the sequential part of ESIM, Chen et al., ACL 2017, arXiv:1609.06038. With a, b the
    states of one shared BiLSTM over either text::

        e_ij = a_i . b_j      a~_i = sum_j softmax_j(e_ij) b_j      b~_j = sum_i softmax_i(e_ij) a_i
        m_a = [a; a~; a - a~; a * a~], and m_b likewise
        v = [mean and max over the states of BiLSTM'(ReLU(W m_a)), and of BiLSTM'(ReLU(W m_b))]
        logit = w . dropout(ELU(U batch_norm(v)))

    Deviations: token vectors are learnt from random starts; batch normalisation before the last layers, and ELU where
    the paper has tanh; one logit instead of three classes. An empty text aligns with nothing: a~ is zero.

    Options (``relevance.soft_align``). The paper says that GRU did worse than LSTM (``cell``), and takes away one part
    after another: either BiLSTM for a feed-forward layer (``encoding``, ``composition``), the difference and product
    (``differences``), mean and max for a sum (``pooling``). Both feed-forward, without differences and with a sum, is
    close to decomposable attention (Parikh et al., EMNLP 2016). ``activation`` tanh without ``batch_norm`` is the
    classifier as printed; ``n_hidden_layers`` 2 puts a second such layer after the first.

    Output: logits (batch,).
    """

    def __init__(self, n_tokens: int, config: RelevanceConfig) -> None:
        super().__init__(n_tokens, config)
        options, hidden = config.soft_align, config.hidden_dim
        self.differences, self.pooling = options.differences, options.pooling
        self.encode = _reader(options.encoding, options.cell, config.embedding_dim, hidden)
        self.project = nn.Linear((4 if options.differences else 2) * self.encode.dim, hidden)
        self.compose = _reader(options.composition, options.cell, hidden, hidden)
        pooled = 2 * (2 if options.pooling == "mean_max" else 1) * self.compose.dim
        self.normalise = RowBatchNorm(pooled) if options.batch_norm else nn.Identity()
        layers: list[nn.Module] = []
        for input_dim in (pooled, hidden)[: options.n_hidden_layers]:
            layers += [nn.Linear(input_dim, hidden), _activation(options.activation), nn.Dropout(config.dropout)]
        self.classify = nn.Sequential(*layers, nn.Linear(hidden, 1))

    def forward(self, batch: PairBatch) -> Tensor:
        """Return the logits (batch,)."""
        left = _read(self.encode, self.embed(batch.left), batch.left.mask)
        right = _read(self.encode, self.embed(batch.right), batch.right.mask)
        left_aligned, right_aligned = soft_align(left, batch.left.mask, right, batch.right.mask)
        pooled = torch.cat(
            [
                *self._compare(left, left_aligned, batch.left.mask),
                *self._compare(right, right_aligned, batch.right.mask),
            ],
            dim=1,
        )
        logits: Tensor = self.classify(self.normalise(pooled))
        return logits[:, 0]

    def _compare(self, states: Tensor, aligned: Tensor, mask: Tensor) -> list[Tensor]:
        parts = [states, aligned]
        if self.differences:
            parts += [states - aligned, states * aligned]
        projected = self.dropout(functional.relu(self.project(torch.cat(parts, dim=-1))))
        composed = _read(self.compose, projected, mask)
        return [pool(composed, mask) for pool in POOLINGS[self.pooling]]


def _reader(kind: str, cell: Cell, input_dim: int, hidden_dim: int) -> MaskedRNN | FeedForward:
    """Build what reads a text; either kind gives states of twice ``hidden_dim``."""
    if kind == "recurrent":
        return MaskedRNN(input_dim, hidden_dim, cell=cell, bidirectional=True)
    return FeedForward(input_dim, 2 * hidden_dim)


def _read(reader: MaskedRNN | FeedForward, inputs: Tensor, mask: Tensor) -> Tensor:
    states: Tensor = reader(inputs, mask) if isinstance(reader, FeedForward) else reader(inputs, mask)[0]
    return states


def _activation(name: str) -> nn.Module:
    return nn.ELU() if name == "elu" else nn.Tanh()


def masked_sum(states: Tensor, mask: Tensor) -> Tensor:
    """Sum (batch, n, dim) over the n steps a bool (batch, n) mask keeps; zero where it keeps none."""
    return (states * mask[..., None]).sum(1)


POOLINGS: dict[str, list[Callable[[Tensor, Tensor], Tensor]]] = {
    "mean_max": [masked_mean, masked_max],
    "mean": [masked_mean],
    "max": [masked_max],
    "sum": [masked_sum],
}
"""By ``relevance.soft_align.pooling``."""


def soft_align(left: Tensor, left_mask: Tensor, right: Tensor, right_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Describe each token of either text by the other text: an average weighted by the softmax of dot products.

    Args:
        left: float32 (batch, n, dim).
        left_mask: bool (batch, n).
        right: float32 (batch, m, dim).
        right_mask: bool (batch, m).

    Returns:
        What the left tokens are aligned with, (batch, n, dim), and the right ones, (batch, m, dim); zero where the
        other text is empty.
    """
    scores = left @ right.transpose(1, 2)
    lowest = torch.finfo(scores.dtype).min
    to_right = scores.masked_fill(~right_mask[:, None], lowest).softmax(2) * right_mask[:, None]
    to_left = scores.masked_fill(~left_mask[..., None], lowest).softmax(1) * left_mask[..., None]
    return to_right @ right, to_left.transpose(1, 2) @ left


class RowBatchNorm(nn.BatchNorm1d):
    """Batch normalisation that also takes a training batch of one row: with the running averages, as in evaluation."""

    def forward(self, rows: Tensor) -> Tensor:
        """Normalise (batch, dim)."""
        if self.training and len(rows) == 1:
            return functional.batch_norm(
                rows, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(rows)
