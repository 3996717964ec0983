"""The attention maps of a Transformer labeller over one text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from pipeline.entities.taggers.batches import TagBatches
from pipeline.entities.taggers.data import tokenise_text
from pipeline.entities.taggers.encoder import EncoderTagger
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ConfigError, DataError
from pipeline.nn.loop import n_threads
from pipeline.text.spans import LabelledText

FRAME = ("[CLS]", "[SEP]")
"""Names of the tokens around a text."""


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """How much each token of a text attends to each."""

    tokens: tuple[str, ...]
    """As the network reads them, the frame included."""
    weights: np.ndarray
    """float32 (n_layers, n_heads, n_tokens, n_tokens): layer, head, query, key; each row sums to 1."""


def attention_maps(model: TaggerModel, example: LabelledText) -> AttentionMaps:
    """Run a tagger over one text and return the attention of every layer and head.

    Raises:
        ConfigError: the tagger is no Transformer from random weights.
        DataError: the text has no token, or more than one window holds.
    """
    network = model.network_
    if not isinstance(network, EncoderTagger):
        raise ConfigError(f"a tagger {model.config.name} has no attention maps", hint="train one with --tagger encoder")
    tokens = tokenise_text(example, model.tokeniser_)
    if not 0 < len(tokens) <= model.config.window_tokens:
        raise DataError(
            f"the text has {len(tokens)} tokens, attention is shown for 1 to {model.config.window_tokens} "
            "(tagger.window_tokens)"
        )
    batches = TagBatches(
        [tokens], model.tokeniser_.special, model.scheme, batch_size=1, window_tokens=model.config.window_tokens
    )
    with n_threads(model.threads), torch.inference_mode():
        (batch,) = batches.epoch()
        weights = network.attention(batch)[0].float().numpy()
    forms = example.words or tuple(
        example.text[start:stop] for start, stop in zip(tokens.starts.tolist(), tokens.stops.tolist(), strict=True)
    )
    return AttentionMaps((FRAME[0], *forms, FRAME[1]), weights)
