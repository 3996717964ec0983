"""A pre-trained encoder in two halves: lowest layers that stay as they are, run once a text, and those that learn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.nn.encoders.fine_tune import encoder_layers, layer_list
from pipeline.nn.encoders.states import hidden_states

PROBE_LENGTH = 8
"""Tokens by which two halves are compared with the whole."""


class Halves:
    """The lowest layers of an encoder, embeddings with them, and the layers above, each run by itself.

    Both halves are the encoder's own modules: what is learnt above is learnt in the encoder, and saved with it.

    Args:
        encoder: a transformers encoder.
        n_lower: layers of the lower half, at least one.
    """

    def __init__(self, encoder: Any, n_lower: int) -> None:
        self.encoder, self.n_lower = encoder, n_lower

    @classmethod
    def of(cls, encoder: Any, n_lower: int) -> Halves | None:
        """Cut an encoder in two; None where nothing lies below, or the parts would not be the whole."""
        halves = cls(encoder, n_lower)
        return halves if n_lower and halves.are_whole() else None

    def rest_lower(self) -> None:
        """Keep dropout out of the lower half: its states are those of a text, the same each time."""
        self.encoder.embeddings.eval()
        for layer in encoder_layers(self.encoder)[: self.n_lower]:
            layer.eval()

    def lower(self, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        """Return the states between the halves, (batch, seq_len, hidden), without gradients."""
        with torch.no_grad(), _some_layers(self.encoder, 0, self.n_lower):
            return hidden_states(self.encoder, tokens, mask, segments)

    def upper(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the last states (batch, seq_len, hidden) for those between the halves."""
        tokens = torch.zeros_like(mask, dtype=torch.long)
        with _some_layers(self.encoder, self.n_lower, None), _given_states(self.encoder, states):
            return hidden_states(self.encoder, tokens, mask, tokens)

    def are_whole(self) -> bool:
        """Tell whether the halves, one after the other, are the whole: not every kind of encoder is built so."""
        training = self.encoder.training
        self.encoder.eval()
        n_tokens = self.encoder.get_input_embeddings().num_embeddings
        tokens = torch.arange(PROBE_LENGTH)[None] % n_tokens
        mask = torch.ones_like(tokens, dtype=torch.bool)
        segments = torch.zeros_like(tokens)
        try:
            with torch.no_grad():
                whole = hidden_states(self.encoder, tokens, mask, segments)
                joined = self.upper(self.lower(tokens, mask, segments), mask)
        except (AttributeError, RuntimeError, TypeError, ValueError, IndexError):
            return False
        finally:
            self.encoder.train(training)
        return whole.shape == joined.shape and bool(torch.allclose(whole, joined, atol=1e-4))


class _Given(nn.Module):
    """Stands where the embeddings were: whatever is asked, the states that were given are the answer."""

    def __init__(self, states: Tensor) -> None:
        super().__init__()
        self.states = states

    def forward(self, *_: Any, input_ids: Tensor | None = None, **__: Any) -> Tensor:
        """Return float32 (batch, padded_len, hidden): ``hidden_states`` pads tokens, so the states are padded too."""
        if input_ids is None:
            raise TypeError("the embeddings of this encoder do not read ids by that name")
        spare = input_ids.shape[1] - self.states.shape[1]
        return nn.functional.pad(self.states, (0, 0, 0, spare))


@contextmanager
def _some_layers(encoder: nn.Module, first: int, last: int | None) -> Iterator[None]:
    layers = layer_list(encoder)
    everything = layers._modules
    layers._modules = {str(index): layer for index, layer in enumerate(list(everything.values())[first:last])}
    try:
        yield
    finally:
        layers._modules = everything


@contextmanager
def _given_states(encoder: Any, states: Tensor) -> Iterator[None]:
    embeddings = encoder.embeddings
    encoder.embeddings = _Given(states)
    try:
        yield
    finally:
        encoder.embeddings = embeddings
