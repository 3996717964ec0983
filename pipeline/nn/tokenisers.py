"""Text to token ids with exact places: characters or words of a fitted vocabulary, or pieces of an encoder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from tokenizers import Tokenizer

from pipeline.artifacts import atomic_write_json, atomic_write_text, read_json
from pipeline.errors import ArtifactError
from pipeline.nn.encoders import SpecialIds, encoder_folder, load_tokenizer, read_tokenizer
from pipeline.nn.vocab import PADDING, UNKNOWN, Vocabulary, tokenise
from pipeline.text import normalise

FIRST, SEPARATOR = "[CLS]", "[SEP]"
"""Tokens of the character vocabulary that no text yields."""


_WORD = re.compile(r"\S+")


class Tokens(NamedTuple):
    """Token ``i`` is ``text[starts[i]:stops[i]]``, never empty and never beginning or ending with a blank."""

    ids: np.ndarray
    """int32 (n_tokens,)."""
    starts: np.ndarray
    """int32 (n_tokens,), never falling."""
    stops: np.ndarray
    """int32 (n_tokens,), never falling."""


class Tokeniser(Protocol):
    """Cuts a text into tokens. A token that is not in the vocabulary keeps its place and gets the unknown id."""

    special: SpecialIds

    def __len__(self) -> int:
        """Number of ids."""
        ...

    def __call__(self, text: str) -> Tokens:
        """Cut a normalised text; no special tokens are added."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything ``load`` needs."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote."""
        ...


class CharacterTokeniser:
    """Characters, and whole runs of Latin letters and digits (``vocab.tokenise``), for networks from random weights."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        first, separator = vocabulary.encode([FIRST, SEPARATOR])
        self.special = SpecialIds(PADDING, UNKNOWN, first, separator)

    @classmethod
    def fit(cls, texts: Iterable[str]) -> Self:
        """Take the tokens that occur at least twice."""
        return cls(Vocabulary([FIRST, SEPARATOR, *Vocabulary.build(texts).tokens]))

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __call__(self, text: str) -> Tokens:
        """Cut a normalised text."""
        found = tokenise(text)
        return _tokens(self.vocabulary.encode(found.forms), found.starts, found.stops)

    def save(self, folder: Path) -> None:
        """Write the vocabulary."""
        self.vocabulary.save(folder / "vocab.json")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the vocabulary.

        Raises:
            ArtifactError: the file is missing or no such vocabulary.
        """
        vocabulary = Vocabulary.load(folder / "vocab.json")
        if vocabulary.tokens[:2] != [FIRST, SEPARATOR]:
            raise ArtifactError(f"{folder / 'vocab.json'}: begins with {vocabulary.tokens[:2]}, want [CLS] and [SEP]")
        return cls(vocabulary)


class WordTokeniser(CharacterTokeniser):
    """Given words, looked up whole in a fitted vocabulary; NFKC and lower case as everywhere."""

    @classmethod
    def of_sentences(cls, sentences: Iterable[Sequence[str]], *, min_count: int = 2) -> Self:
        """Take the words that occur at least so often; the others teach what an unknown word is."""
        forms = (word_form(word) for words in sentences for word in words)
        # No word clashes with the frame: words are in lower case.
        return cls(Vocabulary([FIRST, SEPARATOR, *Vocabulary.of_tokens(forms, min_count=min_count).tokens]))

    def __call__(self, text: str) -> Tokens:
        """Cut a text at its blanks."""
        found = list(_WORD.finditer(text))
        return self.encode([match.group() for match in found])._replace(
            starts=np.fromiter((match.start() for match in found), np.int32),
            stops=np.fromiter((match.end() for match in found), np.int32),
        )

    def encode(self, words: Sequence[str]) -> Tokens:
        """Look words up; their places are their numbers."""
        ids = self.vocabulary.encode(word_form(word) for word in words)
        return _tokens(ids, range(len(words)), range(1, len(words) + 1))


def word_form(word: str) -> str:
    """Return a word as the vocabulary knows it."""
    return normalise(word).text.strip() or word


class PieceTokeniser:
    """The pieces of an encoder's own tokeniser.

    Args:
        tokenizer: of the ``tokenizers`` package; its offsets are characters of the text.
        special: ids of its special tokens.
    """

    def __init__(self, tokenizer: Tokenizer, special: SpecialIds) -> None:
        self.tokenizer = tokenizer
        self.special = special

    @classmethod
    def of_encoder(cls, folder: Path) -> Self:
        """Load the tokeniser of an encoder's folder.

        Raises:
            ArtifactError: see ``load_tokenizer``.
        """
        return cls(*load_tokenizer(folder))

    @classmethod
    def named(cls, name: str) -> Self:
        """Load the tokeniser of a folder, of a packaged encoder (``builtin:e5-zh-6``) or of a name on the model hub.

        Args:
            name: a folder may hold ``tokenizer.json`` and its settings alone, without any network.

        Raises:
            ConfigError: there is no such packaged encoder.
            ArtifactError: there is none, or it lacks one of the special tokens.
        """
        if Path(name).is_dir():
            return cls(*load_tokenizer(Path(name), alone=True))
        return cls.of_encoder(encoder_folder(name))

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def __call__(self, text: str) -> Tokens:
        """Cut a text; blanks at the edges of a piece are left to no token."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        kept = []
        for piece, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            form = text[start:stop]
            trimmed = form.strip()
            if trimmed:
                start += len(form) - len(form.lstrip())
                kept.append((piece, start, start + len(trimmed)))
        ids, starts, stops = zip(*kept, strict=True) if kept else ((), (), ())
        return _tokens(ids, starts, stops)

    def save(self, folder: Path) -> None:
        """Write the tokeniser and the ids of its special tokens."""
        atomic_write_text(folder / "tokenizer.json", self.tokenizer.to_str())
        atomic_write_json(folder / "special_ids.json", asdict(self.special))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        return cls(read_tokenizer(folder / "tokenizer.json"), SpecialIds(**read_json(folder / "special_ids.json")))


def _tokens(ids: Iterable[int], starts: Iterable[int], stops: Iterable[int]) -> Tokens:
    return Tokens(*(np.fromiter(part, np.int32) for part in (ids, starts, stops)))
