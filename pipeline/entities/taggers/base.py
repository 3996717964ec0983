"""What every sequence labeller is: a batch of windows in, scores of the window's tags out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.batches import TagBatch
from pipeline.entities.taggers.crf import CRF
from pipeline.entities.taggers.decode import TagScores
from pipeline.nn.tokenisers import Tokeniser
from pipeline.text.spans import TagScheme


class TagOutput(NamedTuple):
    """What a tagger says of a batch."""

    emissions: Tensor
    """float32 (batch, window_len, n_tags): log probabilities of independent tags, or scores for the CRF."""
    loss: Tensor | None
    """float32 scalar, a mean over known tags; None for a batch without tags."""
    labels: Tensor | None = None
    """float32 (batch, window_len, n_labels): log probabilities of the labels, where they have a layer of their own."""

    @property
    def scores(self) -> TagScores:
        """The same for decoding, without the loss."""
        labels = None if self.labels is None else self.labels.cpu().numpy()
        return TagScores(self.emissions.float().cpu().numpy(), labels)


class LabelLayer(nn.Module):
    """A second output of a tagger: which label a token has if it belongs to an entity. The tags are then bare.

    Args:
        hidden: size of the states.
        scheme: the tags with labels, as the batches carry them.
        weight: of this output's loss beside that of the boundaries.
    """

    def __init__(self, hidden: int, scheme: TagScheme, *, weight: float) -> None:
        super().__init__()
        self.classify = nn.Linear(hidden, len(scheme.labels))
        self.weight = weight
        # Buffers follow the module to its device; these are known from the scheme, so they are not saved.
        self._bare_of: Tensor
        self._label_of: Tensor
        self.register_buffer("_bare_of", torch.from_numpy(scheme.bare_of), persistent=False)
        self.register_buffer("_label_of", torch.from_numpy(scheme.label_of), persistent=False)

    def forward(self, states: Tensor) -> Tensor:
        """Return log probabilities of the labels: float32 (batch, window_len, n_labels)."""
        return self.classify(states).float().log_softmax(-1)

    def split(self, tags: Tensor) -> tuple[Tensor, Tensor]:
        """Return bare tags and labels, both int64 (batch, window_len); negative where unknown, or there is none."""
        known = tags.clamp(min=0)
        return torch.where(tags < 0, tags, self._bare_of[known]), torch.where(tags < 0, tags, self._label_of[known])


class Tagger(nn.Module, ABC):
    """Base of the taggers. A row's scores depend on that row alone: not on padding, not on batch-mates.

    Without ``config.crf`` each tag is classified alone (softmax), and a CRF with fixed transitions only sees to it
    that sequences are well formed; so both kinds of output are decoded alike.

    Args:
        hidden: size of the states.
        scheme: the tags.
        config: output layer and dropout.
    """

    tokeniser: ClassVar[type[Tokeniser]]
    """The kind of tokens it reads."""
    reads_words: ClassVar[bool] = False
    """Whether it can read given words instead."""

    def __init__(self, hidden: int, scheme: TagScheme, config: TaggerConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(hidden, len(scheme.tags))
        self.crf = CRF(scheme, learns=config.crf)
        self.learns_transitions = config.crf
        self.focal_gamma = config.focal_gamma
        self.tag_weights: Tensor | None = None
        """float32 (n_tags,): weights in the loss, of training only."""
        self.label_layer: LabelLayer | None = None

    def add_label_layer(self, scheme: TagScheme, *, weight: float) -> None:
        """Tell labels by a layer of their own: the network's tags are ``scheme.bare``, those of batches ``scheme``."""
        self.label_layer = LabelLayer(self.classify.in_features, scheme, weight=weight)

    @classmethod
    @abstractmethod
    def fit_tokeniser(cls, texts: Iterable[str], config: TaggerConfig) -> Tokeniser:
        """Return the tokeniser for some training texts."""

    @classmethod
    def load_tokeniser(cls, folder: Path, config: TaggerConfig) -> Tokeniser:
        """Read the tokeniser that was saved with a network.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        return cls.tokeniser.load(folder)

    @classmethod
    @abstractmethod
    def create(cls, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Return a network with its first weights."""

    @classmethod
    def restore(cls, folder: Path, tokeniser: Tokeniser, scheme: TagScheme, config: TaggerConfig) -> Self:
        """Return a network that saved weights can be loaded into; ``folder`` holds what ``save_shape`` wrote."""
        return cls.create(tokeniser, scheme, config)

    def save_shape(self, folder: Path) -> None:
        """Write what ``restore`` needs beyond the configuration."""

    def keep_states(self, folder: Path, *, variant: str = "") -> None:
        """Keep what need not be computed twice in a folder, where the tagger has such a part.

        Args:
            folder: shared by the trainings of one stage.
            variant: anything beside weights and tokens on which the states depend.
        """

    def for_conversion(self) -> tuple[nn.Module, dict[str, Tensor]] | None:
        """Return what can be converted for another engine, where the tagger has such a form.

        A module that maps tokens, mask and segments, int64 (batch, seq_len), to scores and labels as in ``TagOutput``,
        but of every step; and an example of its input.
        """
        return None

    @abstractmethod
    def states(self, batch: TagBatch) -> Tensor:
        """Return a vector for each token: float32 (batch, seq_len, hidden)."""

    def parameter_groups(self, config: TaggerConfig) -> list[dict[str, Any]]:
        """Return the parameters that are trained, in groups with options of their own."""
        return [{"params": [parameter for parameter in self.parameters() if parameter.requires_grad]}]

    def forward(self, batch: TagBatch) -> TagOutput:
        """Score the tags of each window, and measure the loss where tags are given."""
        window = self.dropout(self.states(batch)[:, 1 : 1 + batch.window.shape[1]])
        emissions = self.emissions(window)
        if self.label_layer is None:
            return TagOutput(emissions, None if batch.tags is None else self._loss(emissions, batch.tags, batch.window))
        labels = self.label_layer(window)
        if batch.tags is None:
            return TagOutput(emissions, None, labels)
        bare, label_ids = self.label_layer.split(batch.tags)
        loss = self._loss(emissions, bare, batch.window) + self.label_layer.weight * token_loss(labels, label_ids)
        return TagOutput(emissions, loss, labels)

    def emissions(self, states: Tensor) -> Tensor:
        """Score the tags of some states: see ``TagOutput.emissions``."""
        scores = self.classify(states).float()
        return scores if self.learns_transitions else scores.log_softmax(-1)

    def _loss(self, emissions: Tensor, tags: Tensor, window: Tensor) -> Tensor:
        if self.learns_transitions:
            return -self.crf.log_likelihood(emissions, tags, window).sum() / (tags >= 0).sum().clamp(min=1)
        return token_loss(emissions, tags, weights=self.tag_weights, focal_gamma=self.focal_gamma)


def token_loss(log_probs: Tensor, tags: Tensor, *, weights: Tensor | None = None, focal_gamma: float = 0.0) -> Tensor:
    """Return the weighted mean of ``-(1 - p) ** gamma * log p`` over the known tags.

    Focal loss: Lin et al., ICCV 2017, arXiv:1708.02002; gamma 0 is cross-entropy.

    Args:
        log_probs: float32 (batch, window_len, n_tags).
        tags: int64 (batch, window_len); negative where unknown.
        weights: float32 (n_tags,), or None for equal weights.
        focal_gamma: how much less tags count that are right with certainty.
    """
    known = tags >= 0
    of_tag = log_probs[known].gather(1, tags[known][:, None])[:, 0]
    weight = torch.ones_like(of_tag) if weights is None else weights.to(of_tag.device)[tags[known]]
    focus = (1 - of_tag.exp()) ** focal_gamma if focal_gamma else 1.0
    # Some window may hold unknown tags alone.
    return -(weight * focus * of_tag).sum() / weight.sum().clamp(min=1e-6)
