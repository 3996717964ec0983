"""Soft alignment: each token of one text is compared with what the other text says about it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch
from pipeline.nn.layers import MaskedLSTM, masked_max, masked_mean


class SoftAlign(Matcher):
    """Two LSTM layers with mutual attention between the texts in the middle.

    Paper: the sequential part of ESIM, Chen et al., ACL 2017, arXiv:1609.06038. With a, b the states of one shared
    BiLSTM over either text::

        e_ij = a_i . b_j      a~_i = sum_j softmax_j(e_ij) b_j      b~_j = sum_i softmax_i(e_ij) a_i
        m_a = [a; a~; a - a~; a * a~], and m_b likewise
        v = [mean and max over the states of BiLSTM'(ReLU(W m_a)), and of BiLSTM'(ReLU(W m_b))]
        logit = w . dropout(ELU(U batch_norm(v)))

    Deviations: token vectors are learnt from random starts; batch normalisation before the last layers, and ELU where
    the paper has tanh; one logit instead of three classes. An empty text aligns with nothing: a~ is zero.

    Output: logits (batch,).
    """

    def __init__(self, n_tokens: int, config: RelevanceConfig) -> None:
        super().__init__(n_tokens, config)
        hidden = config.hidden_dim
        self.encode = MaskedLSTM(config.embedding_dim, hidden, bidirectional=True)
        self.project = nn.Linear(4 * self.encode.dim, hidden)
        self.compose = MaskedLSTM(hidden, hidden, bidirectional=True)
        self.normalise = RowBatchNorm(4 * self.compose.dim)
        self.classify = nn.Sequential(
            nn.Linear(4 * self.compose.dim, hidden), nn.ELU(), nn.Dropout(config.dropout), nn.Linear(hidden, 1)
        )

    def forward(self, batch: PairBatch) -> Tensor:
        """Return the logits (batch,)."""
        left, _ = self.encode(self.embed(batch.left), batch.left.mask)
        right, _ = self.encode(self.embed(batch.right), batch.right.mask)
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

    def _compare(self, states: Tensor, aligned: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        enhanced = torch.cat([states, aligned, states - aligned, states * aligned], dim=-1)
        composed, _ = self.compose(self.dropout(functional.relu(self.project(enhanced))), mask)
        return masked_mean(composed, mask), masked_max(composed, mask)


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
