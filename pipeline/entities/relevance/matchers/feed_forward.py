"""What reads a text in a matcher beside the recurrent layers of ``nn.layers``."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class FeedForward(nn.Module):
    """One ReLU layer over each token alone, in place of a recurrent layer.

    Input: (batch, seq_len, input_dim) and bool (batch, seq_len). Output: (batch, seq_len, dim), zero at padding.
    """

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__()
        self.layer = nn.Linear(input_dim, dim)
        self.dim = dim

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Transform each token."""
        return functional.relu(self.layer(inputs)) * mask[..., None]
