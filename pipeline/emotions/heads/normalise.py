"""What AF-LSTM may normalise by: layer norm, batch norm, nothing."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Normalisation = Literal["layer", "batch", "none"]


class MaskedBatchNorm(nn.Module):
    """Batch normalisation of steps, of which padding is none.

    Paper: Ioffe and Szegedy, ICML 2015, arXiv:1502.03167. In training, with mean and variance over all steps of the
    batch that the mask keeps; a running average of both (momentum 0.1, the variance without bias) is saved with the
    weights and takes their place in evaluation::

        out = g (x - mean) / sqrt(variance + 1e-5) + b

    Deviation: a batch of fewer than two steps has no variance, and is normalised by the running averages.

    Input: (..., dim) and a bool mask (...). Output: float32 (..., dim); what stands at padding is unspecified.
    """

    EPSILON = 1e-5
    MOMENTUM = 0.1

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_variance", torch.ones(dim))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Normalise each of the dim numbers over the steps."""
        states = states.float()  # means over thousands of steps are too coarse in bfloat16
        mean, variance = self._statistics(states[mask])
        return self.weight * (states - mean) * torch.rsqrt(variance + self.EPSILON) + self.bias

    def _statistics(self, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance to normalise by, (dim,) each, of steps (n, dim); in training note them, too."""
        n_steps = len(steps)
        if not self.training or n_steps < 2:
            return self.running_mean, self.running_variance
        variance, mean = torch.var_mean(steps, dim=0, correction=0)
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.MOMENTUM)
            self.running_variance.lerp_(variance * n_steps / (n_steps - 1), self.MOMENTUM)
        return mean, variance


class MaskedLayerNorm(nn.LayerNorm):
    """Layer normalisation, for which padding does not matter: each step is normalised by itself."""

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        """Normalise (..., dim) over its last axis."""
        return super().forward(states)


class NoNorm(nn.Module):
    """States as they are."""

    def __init__(self, dim: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states."""
        return states


NORMALISATIONS: dict[Normalisation, type[MaskedBatchNorm] | type[MaskedLayerNorm] | type[NoNorm]] = {
    "layer": MaskedLayerNorm,
    "batch": MaskedBatchNorm,
    "none": NoNorm,
}
"""By ``head.af_normalise``; each maps states (..., dim) and a bool mask (...) to (..., dim)."""
