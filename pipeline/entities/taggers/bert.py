"""Tagger on a pre-trained encoder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from pipeline.config import MAX_POSITIONS, TaggerConfig
from pipeline.entities.taggers.base import Tagger
from pipeline.entities.taggers.batches import TagBatch
from pipeline.errors import ArtifactError
from pipeline.nn.encoders import encoder_folder, load_encoder, restore_encoder
from pipeline.nn.encoders.fine_tune import fine_tuning_groups, freeze_lowest
from pipeline.nn.encoders.halves import Halves
from pipeline.nn.encoders.state_cache import StateCache
from pipeline.nn.encoders.states import hidden_states
from pipeline.nn.tokenisers import PieceTokeniser, Tokeniser
from pipeline.text.spans import TagScheme

EXAMPLE_STEPS = 16
"""Tokens of a row of the example by which the network is converted."""


class BertTagger(Tagger):
    """A pre-trained encoder whose last states are classified.

    Paper: Devlin et al., NAACL 2019, arXiv:1810.04805. Additions: an optional CRF; learning rates that fall from
    layer to layer towards the input (Howard and Ruder, ACL 2018, arXiv:1801.06146); lowest layers may be frozen.

    Args:
        encoder: a transformers model that maps ids, mask and segments to hidden states.
        scheme: the tags.
        config: output layer, dropout, frozen layers.

    Without ``tagger.frozen_dropout``, frozen layers are run once a window while the others learn.
    """

    tokeniser = PieceTokeniser

    def __init__(self, encoder: Any, scheme: TagScheme, config: TaggerConfig) -> None:
        super().__init__(encoder.config.hidden_size, scheme, config)
        self.encoder = encoder
        freeze_lowest(encoder, config.freeze_layers, option="tagger.freeze_layers")
        self.halves = None if config.frozen_dropout else Halves.of(encoder, config.freeze_layers)
        self.lower_states: StateCache | None = None

    @classmethod
    def fit_tokeniser(cls, texts: Iterable[str], config: TaggerConfig) -> Tokeniser:
        """Take the encoder's own tokeniser."""
        return PieceTokeniser.of_encoder(encoder_folder(config.encoder))

    @classmethod
    def create(cls, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Start from the encoder's weights.

        Raises:
            ArtifactError: the encoder cannot be loaded, or reads shorter texts than the configuration asks for.
        """
        encoder = load_encoder(encoder_folder(config.encoder), n_tokens=len(tokeniser))
        longest = getattr(encoder.config, "max_position_embeddings", MAX_POSITIONS)
        asked = max(config.window_tokens, config.train_window_tokens) + config.title_tokens + 3
        if asked > longest:
            raise ArtifactError(
                f"encoder {config.encoder} reads {longest} tokens, tagger.window_tokens and title_tokens need {asked}"
            )
        return cls(encoder, scheme, config)

    @classmethod
    def restore(cls, folder: Path, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Build the encoder from its saved configuration, without weights."""
        return cls(restore_encoder(folder), scheme, config)

    def save_shape(self, folder: Path) -> None:
        """Write the encoder's configuration."""
        self.encoder.config.save_pretrained(folder)

    def keep_states(self, folder: Path, *, variant: str = "") -> None:
        """Keep what the frozen layers say of a window in a folder: it is the same in each epoch, and in each fold."""
        if self.halves is not None:
            self.lower_states = StateCache(folder, self.encoder, variant=f"below layer {self.halves.n_lower} {variant}")

    def train(self, mode: bool = True) -> Self:
        """Set training mode; frozen layers stay in evaluation mode."""
        super().train(mode)
        if self.halves is not None:
            self.halves.rest_lower()
        return self

    def states(self, batch: TagBatch) -> Tensor:
        """Return the states of the encoder's last layer: (batch, seq_len, hidden)."""
        if self.halves is None or not self.training:
            return hidden_states(self.encoder, batch.tokens, batch.mask, batch.segments)
        lower, kept = self.halves.lower, self.lower_states
        if kept is None:
            states = lower(batch.tokens, batch.mask, batch.segments)
        else:
            states = kept.rows(batch.tokens, batch.mask.sum(1), batch.segments, run=lower)
        return self.halves.upper(states, batch.mask)

    def for_conversion(self) -> tuple[nn.Module, dict[str, Tensor]]:
        """Return the network without its preparations for torch: see ``Tagger.for_conversion``."""
        n_tokens = self.encoder.get_input_embeddings().num_embeddings
        tokens = torch.arange(2 * EXAMPLE_STEPS).reshape(2, EXAMPLE_STEPS) % n_tokens
        mask = torch.ones_like(tokens)
        mask[1, EXAMPLE_STEPS // 2 :] = 0
        segments = (torch.arange(EXAMPLE_STEPS) > EXAMPLE_STEPS // 4).long() * mask
        return _Bare(self).eval(), {"tokens": tokens, "mask": mask, "segments": segments}

    def parameter_groups(self, config: TaggerConfig) -> list[dict[str, Any]]:
        """Return a group for each depth of the encoder, and one for what is on top."""
        return fine_tuning_groups(
            self,
            self.encoder,
            encoder_rate=config.encoder_learning_rate,
            rate=config.training.learning_rate,
            layer_decay=config.layer_decay,
        )


class _Bare(nn.Module):
    """From ids to scores, with no size taken from an input."""

    def __init__(self, tagger: BertTagger) -> None:
        super().__init__()
        self.tagger = tagger
        self._has_segments = getattr(tagger.encoder.config, "type_vocab_size", 0) > 1

    def forward(self, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        of_pair = {"token_type_ids": segments} if self._has_segments else {}
        states = self.tagger.encoder(input_ids=tokens, attention_mask=mask, **of_pair).last_hidden_state
        emissions = self.tagger.emissions(states)
        return emissions if self.tagger.label_layer is None else (emissions, self.tagger.label_layer(states))
