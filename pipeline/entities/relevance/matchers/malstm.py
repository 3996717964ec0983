"""MaLSTM: the Manhattan distance of two texts' last states."""

from __future__ import annotations

import torch
from torch import Tensor

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch, Side
from pipeline.nn.layers import MaskedLSTM

FORGET_BIAS = 2.5
INITIAL_STD = 0.1
SMALLEST_DISTANCE = 1e-6
"""Keeps the logit of two equal texts finite."""


class MaLSTM(Matcher):
    """One LSTM reads both texts; their similarity is exp(-distance).

    Paper: Mueller and Thyagarajan, AAAI 2016. With h the last state of the shared LSTM::

        s = exp(-||h_left - h_right||_1)      logit = log(s / (1 - s)) = -d - log(1 - exp(-d)),  d = -log s

    As in the paper, weights start small (standard deviation 0.1) and the forget gates open (bias 2.5): from torch's
    start the distance of 48 dimensions is so large that its similarity, and the gradient of a squared error, vanish.
    Deviations: token vectors are learnt from random starts, not word2vec; dropout on them; trained by AdamW; no
    regression on top of the similarity (the reranker takes it as it is). Two empty texts are equal.

    Output: logits (batch,), at most about 13.8, the logit of a distance of ``SMALLEST_DISTANCE``.
    """

    def __init__(self, n_tokens: int, config: RelevanceConfig) -> None:
        super().__init__(n_tokens, config)
        self.lstm = MaskedLSTM(config.embedding_dim, config.hidden_dim)
        hidden = config.hidden_dim
        with torch.no_grad():
            for name, parameter in self.lstm.named_parameters():
                if "weight" in name:
                    parameter.normal_(std=INITIAL_STD)
                else:
                    parameter.zero_()
                if name.endswith("bias_ih_l0"):  # torch's order of gates: input, forget, cell, output
                    parameter[hidden : 2 * hidden] = FORGET_BIAS

    def forward(self, batch: PairBatch) -> Tensor:
        """Return the logits (batch,)."""
        return logit_of_distance(self.distance(batch))

    def distance(self, batch: PairBatch) -> Tensor:
        """Return the L1 distance of the two last states, float32 (batch,)."""
        return (self._last_state(batch.left) - self._last_state(batch.right)).abs().sum(1)

    def _last_state(self, side: Side) -> Tensor:
        _, final = self.lstm(self.embed(side), side.mask)
        return final


def logit_of_distance(distance: Tensor) -> Tensor:
    """Return the logit whose sigmoid is exp(-distance), for distances of 0 and more."""
    distance = distance.clamp(min=SMALLEST_DISTANCE)
    return -distance - (-torch.expm1(-distance)).log()
