"""A batch through an encoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional

from pipeline.config import MAX_POSITIONS
from pipeline.nn.lengths import LENGTH_STEP


def hidden_states(encoder: Any, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
    """Return the states of an encoder's last layer, (batch, seq_len, hidden).

    Args:
        encoder: a transformers model that maps ids, mask and, where it knows them, segments to ``last_hidden_state``.
        tokens: int64 (batch, seq_len).
        mask: bool (batch, seq_len), False at padding.
        segments: int64 (batch, seq_len), 1 for the second text of a pair.
    """
    options = encoder.config
    length = tokens.shape[1]
    longest = min(MAX_POSITIONS, getattr(options, "max_position_embeddings", MAX_POSITIONS))
    spare = max(0, min(-length % LENGTH_STEP, longest - length))
    of_pair = (
        {"token_type_ids": functional.pad(segments, (0, spare))} if getattr(options, "type_vocab_size", 0) > 1 else {}
    )
    output = encoder(
        input_ids=functional.pad(tokens, (0, spare), value=getattr(options, "pad_token_id", None) or 0),
        attention_mask=functional.pad(mask, (0, spare)),
        **of_pair,
    )
    states: Tensor = output.last_hidden_state[:, :length]
    return states
