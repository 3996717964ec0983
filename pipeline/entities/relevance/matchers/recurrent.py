"""Recurrent layers of the matchers, LSTM or GRU."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from pipeline.nn.layers import MaskedLSTM

Cell = Literal["lstm", "gru"]


def recurrent(cell: Cell, input_dim: int, hidden_dim: int, *, bidirectional: bool = False) -> MaskedLSTM:
    """Build a recurrent layer over rows of unlike lengths; see ``MaskedLSTM``, whose masking holds for either cell.

    GRU: Cho et al., EMNLP 2014, in torch's form, in which the reset gate acts after the recurrent product.
    """
    if cell == "lstm":
        return MaskedLSTM(input_dim, hidden_dim, bidirectional=bidirectional)
    return MaskedGRU(input_dim, hidden_dim, bidirectional=bidirectional)


class MaskedGRU(MaskedLSTM):
    """A GRU where ``MaskedLSTM`` has an LSTM; the shapes are the same."""

    def __init__(self, input_dim: int, hidden_dim: int, *, bidirectional: bool = False) -> None:
        super().__init__(input_dim, hidden_dim, bidirectional=bidirectional)
        # Called alike, and the states come first in what either gives.
        self.forwards = nn.GRU(input_dim, hidden_dim, batch_first=True)
        self.backwards = nn.GRU(input_dim, hidden_dim, batch_first=True) if bidirectional else None


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
