"""Pair head: a pre-trained encoder reads the target beside its context."""

from __future__ import annotations

import torch
from torch import nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.encoder_states import EncoderStates
from pipeline.errors import ConfigError
from pipeline.nn.batching import Batch
from pipeline.nn.layers import masked_mean


class Pair(Head):
    """Sentence pair of target and context.

    Paper: Devlin et al., NAACL 2019, arXiv:1810.04805 (sentence pairs); as a target head: Sun et al., NAACL 2019,
    arXiv:1903.09588. With h the encoder's last states of ``[CLS] target [SEP] context [SEP]`` and m those steps of the
    context that name the target::

        logits = W [h_cls; mean_m h_m] + b

    Deviations: the papers classify h_cls alone; the states of the mentions say where in the context the target
    stands. No layer between the two, where BERT has its pooler. The target is its first mention as it stands in the
    context: one that does not occur leaves its place, and its half of the features, empty.

    Inputs: ``tokens`` and ``mask`` (batch, seq_len), ``target`` (batch, target_len), ``mentions`` (batch, seq_len).
    Output: logits (batch, n_classes).

    Raises:
        ConfigError: the embedder is no encoder.
    """

    uses_target = True
    needs_encoder = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        if not isinstance(embedder, EncoderStates):
            raise ConfigError("head pair reads an encoder, want head.embedding=encoder")
        self.embedder: EncoderStates = embedder
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(2 * embedder.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; the attention of many heads in many layers is not told."""
        first, states = self.embedder.pair(batch)
        features = torch.cat([first, masked_mean(states, batch.mentions)], dim=-1)
        return HeadOutput(self.classify(self.dropout(features)))
