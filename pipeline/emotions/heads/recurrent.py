"""The recurrent layers of a head, as the options say."""

from __future__ import annotations

from pipeline.config import HeadConfig
from pipeline.nn.layers import Cell, MaskedRNN


def recurrent(input_dim: int, config: HeadConfig, *, cell: Cell = "lstm", both: bool = False) -> MaskedRNN:
    """Build ``config.recurrent_layers`` layers of ``config.hidden_dim`` for each direction.

    Args:
        input_dim: size of what the first layer reads.
        config: options of the head.
        cell: LSTM, or ``config.cell`` where the source names others.
        both: whether ``directions=auto`` means both.
    """
    bidirectional = both if config.directions == "auto" else config.directions == "both"
    return MaskedRNN(
        input_dim, config.hidden_dim, cell=cell, n_layers=config.recurrent_layers, bidirectional=bidirectional
    )
