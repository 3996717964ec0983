"""N-grams of characters or words and a linear classifier: small, fast, and what heads have to beat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json
from pipeline.emotions.sentiment.linear import FitLinear, fit_softmax
from pipeline.emotions.sentiment.ngrams import NgramCounter, WordCounter
from pipeline.emotions.sentiment.order import ORDER, check_order
from pipeline.emotions.sentiment.scores import Probs, class_weights, softmax
from pipeline.errors import ArtifactError
from pipeline.schema import Emotion, Target
from pipeline.text import SEPARATOR, match_key

if TYPE_CHECKING:
    from scipy import sparse

PLACEHOLDER = "\ue000"
"""Stands for the target in its context, so that n-grams say "target + verb"; private use, in no article."""

FIELD_WEIGHTS = {"context": 1.0, "document": 1.4, "name": 0.5}
"""Fields of an example, and their weight against each other (chosen by cross-validation, as what follows for
characters; not tuned for words)."""
NGRAMS = (1, 3)
"""Shortest and longest n-gram of characters."""
MIN_COUNT = {"char": 10, "word": 5}
"""Examples that must hold an n-gram of a text; fewer (1 in 200) where there are few examples."""

EMOTIONS_FILE = "emotions.json"
"""The emotions in the order of the classifier's columns; models of before 0.2.0 have none."""

Tokens = Literal["char", "word"]
Row = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The columns of a row that are not 0, rising, and their values."""
Logits = NDArray[np.float64]

REMEMBERED = 160
"""Texts of which a field remembers the row: a chunk of 32 articles has at most three targets in each."""


class Tfidf:
    """TF-IDF of the target's context, of the whole text and of the name, side by side, into a linear classifier.

    Args:
        tokens: what n-grams of context and text are made of; those of the name are of characters in any case.
        fit_linear: how the classifier is fitted.
        class_weight_power: emotions weigh (1 / frequency) ** power.
    """

    stops_early: ClassVar[bool] = False

    def __init__(
        self, *, tokens: Tokens = "char", fit_linear: FitLinear = fit_softmax, class_weight_power: float = 0.0
    ) -> None:
        self.tokens: Tokens = tokens
        self.fit_linear = fit_linear
        self.class_weight_power = class_weight_power

    def fit(
        self,
        examples: Sequence[Target],
        labels: Sequence[str],
        dev: Sequence[Target] = (),
        dev_labels: Sequence[str] = (),
    ) -> Self:
        """Fit the n-grams, their weights and the classifier."""
        self.weighings_: dict[str, _Weighing] = {}
        for field, column in _columns(examples).items():
            tokens = self._tokens_of(field)
            min_count = 1 if field == "name" else min(MIN_COUNT[tokens], 1 + len(examples) // 200)
            self.weighings_[field] = _Weighing.fit(column, tokens, min_count)
        gold = [Emotion(label) for label in labels]
        weights = class_weights(gold, power=self.class_weight_power)
        self.coefficients_, self.intercept_ = self.fit_linear(self._features(examples), gold, weights)
        return self

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each emotion."""
        logits = [_product(self.coefficients_, *row) for row in self._rows(examples)]
        return softmax(np.array(logits).reshape(-1, len(ORDER)) + self.intercept_)

    def save(self, folder: Path) -> None:
        """Write the n-grams as JSON and the numbers as safetensors."""
        terms = {field: weighing.terms for field, weighing in self.weighings_.items()}
        arrays = {f"idf.{field}": weighing.idf for field, weighing in self.weighings_.items()}
        arrays |= {"coefficients": self.coefficients_, "intercept": self.intercept_}
        atomic_write_json(folder / EMOTIONS_FILE, ORDER)
        atomic_write_json(folder / "terms.json", terms)
        atomic_write_bytes(folder / "model.safetensors", save(arrays))

    def load(self, folder: Path) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged, or they do not fit together.
        """
        if (folder / EMOTIONS_FILE).is_file():
            check_order(folder / EMOTIONS_FILE, read_json(folder / EMOTIONS_FILE))
        path, terms = folder / "model.safetensors", read_json(folder / "terms.json")
        if not isinstance(terms, dict) or set(terms) != set(FIELD_WEIGHTS) or not all(map(_is_listing, terms.values())):
            raise ArtifactError(f"{folder / 'terms.json'}: want the n-grams of {', '.join(FIELD_WEIGHTS)}")
        try:
            arrays = load_file(path)
        except (OSError, SafetensorError) as error:
            raise ArtifactError(f"{path}: cannot be read ({error})") from error
        n_terms = sum(map(len, terms.values()))
        wanted: dict[str, tuple[int, ...]] = {f"idf.{field}": (len(listed),) for field, listed in terms.items()}
        wanted |= {"coefficients": (n_terms, len(ORDER)), "intercept": (len(ORDER),)}
        for name, shape in wanted.items():
            if name not in arrays or arrays[name].shape != shape or arrays[name].dtype.kind != "f":
                raise ArtifactError(f"{path}: {name} is missing, or not of the shape {shape}")
        self.weighings_ = {
            field: _Weighing.shared(terms[field], arrays[f"idf.{field}"], self._tokens_of(field)) for field in terms
        }
        self.coefficients_, self.intercept_ = arrays["coefficients"], arrays["intercept"]
        return self

    def _tokens_of(self, field: str) -> Tokens:
        return "char" if field == "name" else self.tokens

    def _features(self, examples: Sequence[Target]) -> sparse.csr_matrix:
        """Return the features of examples: float64 (n_examples, n_features)."""
        from scipy import sparse  # prediction does without

        rows = self._rows(examples, training=True)
        offsets = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        columns, values = map(np.concatenate, zip(*rows, strict=True))
        n_features = sum(len(weighing.terms) for weighing in self.weighings_.values())
        return sparse.csr_matrix((values, columns, offsets), shape=(len(rows), n_features))

    def _rows(self, examples: Sequence[Target], *, training: bool = False) -> list[Row]:
        """Return the features of each example that are not 0, the fields side by side."""
        parts, shift = [], 0
        for field, column in _columns(examples).items():
            weighing, weight = self.weighings_[field], FIELD_WEIGHTS[field]
            row_of = weighing.training_row if training else weighing.row
            parts.append([(columns + shift, values * weight) for columns, values in map(row_of, column)])
            shift += len(weighing.terms)
        return [
            (np.concatenate([columns for columns, _ in row]), np.concatenate([values for _, values in row]))
            for row in zip(*parts, strict=True)
        ]


def _product(coefficients: NDArray[np.float64], columns: NDArray[np.int64], values: NDArray[np.float64]) -> Logits:
    """Return one row of a sparse matrix times a dense one: float64 (n_emotions,).

    Terms are added one after the other, as scipy's product of matrices adds them, so that no bit of it differs.
    """
    product: Logits = (values[:, None] * coefficients[columns]).sum(0)
    return product


def _is_listing(terms: object) -> bool:
    """Tell whether these can be the n-grams of a field: texts, none of them twice."""
    return (
        isinstance(terms, list)
        and all(isinstance(term, str) and term for term in terms)
        and len(set(terms)) == len(terms)
    )


def _columns(examples: Sequence[Target]) -> dict[str, list[str]]:
    return {
        "context": [_mask_target(example) for example in examples],
        "document": [example.document or example.text for example in examples],
        "name": [f"{PLACEHOLDER}{match_key(example.name)}{PLACEHOLDER}" for example in examples],
    }


def _mask_target(example: Target) -> str:
    parts = []
    position = 0
    for start, stop in example.mentions or ((example.start, example.stop),):
        parts += [example.text[position:start], PLACEHOLDER]
        position = stop
    return "".join([*parts, example.text[position:]])


class _Weighing:
    """N-grams of one field and their weights: what ``TfidfVectorizer(sublinear_tf=True)`` gives, counted faster."""

    _all: ClassVar[WeakValueDictionary[bytes, _Weighing]] = WeakValueDictionary()

    def __init__(self, terms: list[str], idf: NDArray[np.float64], tokens: Tokens) -> None:
        self.terms = terms
        self.idf = idf
        self._counter = NgramCounter(terms, NGRAMS) if tokens == "char" else WordCounter(terms)
        self.row = lru_cache(maxsize=REMEMBERED)(self._row)
        """``_row``; the targets of an article share its text, and members of the same n-grams all texts."""

    @classmethod
    def fit(cls, texts: Sequence[str], tokens: Tokens, min_count: int) -> Self:
        """Take the n-grams that so many of the texts hold, weighed by ``log((1 + n) / (1 + n_texts)) + 1``."""
        found = (
            NgramCounter.statistics(texts, NGRAMS, min_count=min_count)
            if tokens == "char"
            else WordCounter.statistics(texts, min_count=min_count)
        )
        return cls(found.terms, np.log((len(texts) + 1.0) / (found.n_texts + 1.0)) + 1.0, tokens)

    @classmethod
    def shared(cls, terms: list[str], idf: NDArray[np.float64], tokens: Tokens) -> _Weighing:
        """Return what a member that is in memory has already, where its terms and weights are the same."""
        facts = (tokens.encode(), SEPARATOR.join(terms).encode("utf-8", "surrogatepass"), idf.tobytes())
        key = sha256(b"\0".join(facts)).digest()
        found = cls._all.get(key)
        if found is None:
            cls._all[key] = found = cls(terms, idf, tokens)
        return found

    def _row(self, text: str) -> Row:
        """Return the terms of a text and their weights, the squares of which sum to 1."""
        return self._weighed(*self._counter.count(text))

    def training_row(self, text: str) -> Row:
        """Return the same for a text that the n-grams were fitted to."""
        return self._weighed(*self._counter.count_remembered(text))

    def _weighed(self, columns: NDArray[np.int64], counts: NDArray[np.int64]) -> Row:
        values = (np.log(counts.astype(np.float64)) + 1.0) * self.idf[columns]
        norm = np.sqrt(np.cumsum(values * values)[-1]) if len(values) else 1.0  # summed in the order of scikit-learn
        return columns, values / norm if norm else values
