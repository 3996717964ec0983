"""What a head reads, by ``head.embedding``: how texts are cut into tokens, and how tokens become vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.config import Config, TrainingConfig
from pipeline.emotions.classifier.word_split import SPLITS
from pipeline.emotions.classifier.word_vectors import WordVectors, read_word_vectors
from pipeline.emotions.heads.base import Embedder, Head
from pipeline.emotions.heads.encoder_states import EncoderStates, longest_context
from pipeline.emotions.heads.vector_embedding import VectorEmbedding
from pipeline.errors import ConfigError
from pipeline.nn.encoders import SpecialIds, encoder_folder, load_encoder, restore_encoder
from pipeline.nn.encoders.fine_tune import fine_tuning_groups, freeze_lowest, keep_lowest
from pipeline.nn.encoders.frozen import FrozenEncoder, is_kept, keep, load_kept
from pipeline.nn.encoders.state_cache import KeptStates, StateCache
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.loop import in_bf16
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.nn.vocab import PADDING, UNKNOWN, TextReader, TokenIds, Vocabulary

OF_ENCODER = "embedder.encoder."
"""Beginning of the names of an encoder's weights among those of a head."""
EXTRA_WORDS = 20_000
"""Most frequent words of a vector file that are kept although training lacks them: prediction may meet them."""


class Inputs(Protocol):
    """Tokens and vectors of one fitted head."""

    max_tokens: int
    """Longest context."""
    training: TrainingConfig
    """How a head on these inputs is trained."""

    @property
    def reader(self) -> TextReader:
        """What cuts contexts into tokens."""
        ...

    def embedder(self) -> Embedder:
        """Build what turns the reader's tokens into vectors."""
        ...

    def parameter_groups(self, head: Head) -> list[dict[str, Any]] | None:
        """Return the optimiser's groups; None trains all parameters alike."""
        ...

    def own_weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return those of a head's weights that are saved with it."""
        ...

    def all_weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a head's weights for those that were saved with it."""
        ...

    def save(self, folder: Path) -> None:
        """Write what ``load_inputs`` needs besides the head's weights."""
        ...


def reads_encoder(kind: type[Head], config: Config) -> bool:
    """Tell whether a head runs on an encoder's states."""
    asked = config.head.embedding
    return kind.needs_encoder or asked == "encoder" or (asked == "auto" and kind.uses_target)


def is_frozen(kind: type[Head], config: Config) -> bool:
    """Tell whether an encoder stays as it is while a head learns."""
    mode = config.head.encoder_mode
    return mode == "frozen" or (mode == "auto" and not kind.needs_encoder)


def check_inputs(name: str, kind: type[Head], config: Config) -> None:
    """Refuse options that do not go together.

    Raises:
        ConfigError: two channels for a head that knows but one.
    """
    options = config.head
    is_two_channel = options.embedding == "vectors" and options.vectors_mode == "two_channel"
    if is_two_channel and not kind.takes_channels and not kind.needs_encoder:
        raise ConfigError(f"head.vectors_mode=two_channel is for text_cnn, not for {name}")


def fit_inputs(
    kind: type[Head],
    config: Config,
    texts: Iterable[str],
    *,
    shared: Path | None = None,
    states: Path | None = None,
) -> Inputs:
    """Take vocabulary and vectors from training texts, or tokeniser and weights from an encoder.

    Args:
        kind: class of the head.
        config: options.
        texts: of training.
        shared: folder in which a frozen encoder is kept once for several heads.
        states: folder in which its states are kept while they learn.

    Raises:
        ConfigError: no such packaged encoder, or it has fewer layers than are to be frozen.
        DataError: the file of vectors is missing or damaged.
        ArtifactError: the encoder cannot be loaded.
    """
    options = config.head
    if reads_encoder(kind, config):
        folder = encoder_folder(options.encoder.name)
        tokeniser = PieceTokeniser.of_encoder(folder)
        encoder = load_encoder(folder, n_tokens=len(tokeniser))
        keep_lowest(encoder, options.encoder.n_layers, option="head.encoder.n_layers")
        return EncoderInputs(kind, config, tokeniser, encoder, shared=shared, states=states)
    split = SPLITS[options.tokens]
    texts = list(texts)
    vocabulary = Vocabulary.build(texts, split=split)
    if options.embedding != "vectors":
        return VocabularyInputs(kind, config, vocabulary)
    rare = Vocabulary.build(texts, min_count=1, split=split).tokens
    found = read_word_vectors(Path(options.vectors), set(rare), first=EXTRA_WORDS)
    frequent = set(vocabulary.tokens)
    tokens = [token for token in rare if token in frequent or token in found.vectors]
    vocabulary = Vocabulary(list(dict.fromkeys([*tokens, *found.vectors])), split=split)
    return VocabularyInputs(kind, config, vocabulary, vectors_of(vocabulary, found))


def load_inputs(
    kind: type[Head], config: Config, folder: Path, weights: dict[str, Tensor], *, shared: Path | None = None
) -> Inputs:
    """Read what ``save`` wrote.

    Args:
        kind: class of the head.
        config: options, as when the head was trained.
        folder: where it was saved.
        weights: its saved weights; the sizes of vectors are theirs.
        shared: as in ``fit_inputs``; a head that was saved with an encoder of its own reads that.

    Raises:
        ArtifactError: a file is missing or damaged.
    """
    if reads_encoder(kind, config):
        if shared is not None and is_kept(shared):
            kept = load_kept(shared)
            tokeniser = PieceTokeniser.load(shared)
            return EncoderInputs(kind, config, tokeniser, kept.network, shared=shared, kept=kept)
        return EncoderInputs(kind, config, PieceTokeniser.load(folder), restore_encoder(folder))
    vocabulary = Vocabulary.load(folder / "vocab.json", split=SPLITS[config.head.tokens])
    vectors = None
    if config.head.embedding == "vectors":
        sizes = [weights[key].shape for key in ("embedder.static", "embedder.tuned.weight") if key in weights]
        vectors = torch.zeros(sizes[0] if sizes else (len(vocabulary), 1))
    return VocabularyInputs(kind, config, vocabulary, vectors)


def vectors_of(vocabulary: Vocabulary, found: WordVectors) -> Tensor:
    """Return float32 (n_tokens, dim): vectors of the file where it has any, else random ones of the same variance.

    The random ones are uniform, as Kim (EMNLP 2014) has them; that of padding is zero.
    """
    known = np.array(list(found.vectors.values()), dtype=np.float32)
    bound = math.sqrt(3) * float(known.std()) if known.size else 0.25
    vectors = torch.empty(len(vocabulary), found.dim).uniform_(-bound, bound)
    vectors[PADDING] = 0.0
    for index, token in enumerate(vocabulary.tokens, UNKNOWN + 1):
        if token in found.vectors:
            vectors[index] = torch.from_numpy(found.vectors[token])
    return vectors


class VocabularyInputs:
    """Tokens of a fitted vocabulary, with vectors from random starts or from a file."""

    reader: Vocabulary

    def __init__(self, kind: type[Head], config: Config, vocabulary: Vocabulary, vectors: Tensor | None = None) -> None:
        self.reader, self.training = vocabulary, config.training
        self.max_tokens = config.sentiment.max_context_chars
        self._kind, self._options, self._vectors = kind, config.head, vectors

    def embedder(self) -> Embedder:
        """Build the layer of embeddings."""
        options = self._options
        marks = options.marks_target and self._kind.uses_target
        if self._vectors is None:
            return TokenEmbedding(len(self.reader), options.embedding_dim, dropout=options.dropout, marks_target=marks)
        return VectorEmbedding(self._vectors, mode=options.vectors_mode, dropout=options.dropout, marks_target=marks)

    def parameter_groups(self, head: Head) -> list[dict[str, Any]] | None:
        """Train all alike."""
        return None

    def own_weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return all."""
        return weights

    def all_weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return them as they are."""
        return weights

    def save(self, folder: Path) -> None:
        """Write the vocabulary."""
        self.reader.save(folder / "vocab.json")


class PieceReader:
    """An encoder's tokeniser as a reader of contexts."""

    def __init__(self, tokeniser: PieceTokeniser) -> None:
        self.tokeniser = tokeniser

    @property
    def padding(self) -> int:
        """The encoder's own."""
        return self.special.padding

    @property
    def special(self) -> SpecialIds:
        """Ids of the tokens that frame a text."""
        return self.tokeniser.special

    def read(self, text: str) -> TokenIds:
        """Cut a text into pieces."""
        return TokenIds(*(part.tolist() for part in self.tokeniser(text)))


class EncoderInputs:
    """Pieces of an encoder, with its states as vectors.

    Args:
        kind: class of the head.
        config: options.
        tokeniser: of the encoder.
        encoder: the network.
        shared: folder in which the encoder is kept, if it is frozen, for this head and others.
        states: folder in which states are kept while heads learn.
        kept: the encoder of that folder, where it was read from there.
    """

    reader: PieceReader

    def __init__(
        self,
        kind: type[Head],
        config: Config,
        tokeniser: PieceTokeniser,
        encoder: nn.Module,
        *,
        shared: Path | None = None,
        states: Path | None = None,
        kept: FrozenEncoder | None = None,
    ) -> None:
        self.reader = PieceReader(tokeniser)
        self._kind, self._options, self._encoder = kind, config.head, encoder
        self.is_frozen = is_frozen(kind, config)
        self._shared = shared if self.is_frozen else None
        self._states_folder = Path(config.head.states_cache) if config.head.states_cache else states
        self._kept = kept  # lives as long as these inputs, so that the next head finds it
        self.training = config.training if self.is_frozen else config.head.encoder.training
        room = longest_context(encoder, pair=kind.needs_encoder)
        self.max_tokens = min(config.sentiment.max_context_chars, room)

    def embedder(self) -> Embedder:
        """Put the encoder to work."""
        options, kind = self._options, self._kind
        bf16 = in_bf16(options.encoder.training)
        if not self.is_frozen:
            freeze_lowest(self._encoder, options.encoder.freeze_layers, option="head.encoder.freeze_layers")
        return EncoderStates(
            self._encoder,
            self.reader.special,
            dropout=0.0 if kind.needs_encoder else options.dropout,
            marks_target=options.marks_target and kind.uses_target and not kind.needs_encoder,
            frozen=self.is_frozen,
            cache=self._states(variant="bf16" if bf16 else ""),
            in_bf16=bf16,
        )

    def _states(self, *, variant: str) -> KeptStates | None:
        """Return where states are kept: in memory for heads at work, on disk for those that learn."""
        if not self.is_frozen:
            return None
        if self._kept is not None:
            return self._kept.states
        folder = self._states_folder
        return None if folder is None else StateCache(folder, self._encoder, variant=variant)

    def parameter_groups(self, head: Head) -> list[dict[str, Any]] | None:
        """Return a group for each depth of a fine-tuned encoder, and one for the head."""
        if self.is_frozen:
            return None
        options = self._options.encoder
        return fine_tuning_groups(
            head,
            self._encoder,
            encoder_rate=options.learning_rate,
            rate=options.training.learning_rate,
            layer_decay=options.layer_decay,
        )

    def own_weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Leave out those of an encoder that is kept elsewhere."""
        if self._shared is None:
            return weights
        return {name: value for name, value in weights.items() if not name.startswith(OF_ENCODER)}

    def all_weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add those of an encoder that is kept elsewhere."""
        if self._kept is None:
            return weights
        return weights | {OF_ENCODER + name: value for name, value in self._encoder.state_dict().items()}

    def save(self, folder: Path) -> None:
        """Write the tokeniser and the encoder's configuration; a shared encoder with its weights, once."""
        if self._shared is not None:
            self.reader.tokeniser.save(self._shared)
            keep(self._encoder, self._shared)
            return
        self.reader.tokeniser.save(folder)
        config: Any = self._encoder.config
        config.save_pretrained(folder)
