"""N-grams of characters or words and a linear classifier: small, fast, and what heads have to beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json
from pipeline.emotions.sentiment.counted import CountedExamples, FieldJob, Tokens, count_examples
from pipeline.emotions.sentiment.design import Design
from pipeline.emotions.sentiment.linear import FitLinear, fit_softmax
from pipeline.emotions.sentiment.order import ORDER, check_order
from pipeline.emotions.sentiment.scores import Probs, class_weights, softmax
from pipeline.emotions.sentiment.weighing import Row, Weighing
from pipeline.errors import ArtifactError
from pipeline.schema import Emotion, Target
from pipeline.text import match_key

PLACEHOLDER = "\ue000"
"""Stands for the target in its context, so that n-grams say "target + verb"; private use, in no article."""

FIELD_WEIGHTS = {"context": 1.0, "document": 1.4, "name": 0.5}
"""Fields of an example, and their weight against each other (chosen by cross-validation, as what follows for
characters; not tuned for words)."""
MIN_COUNT = {"char": 10, "word": 5}
"""Examples that must hold an n-gram of a text; fewer (1 in 200) where there are few examples."""

EMOTIONS_FILE = "emotions.json"
"""The emotions in the order of the classifier's columns; models of before 0.2.0 have none."""

Logits = NDArray[np.float64]


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
        with TemporaryDirectory() as folder:
            counted = count_examples(field_jobs(examples, [self.tokens]), Path(folder))
            return self.fit_counted(counted, np.arange(len(examples)), labels)

    def fit_counted(self, counted: CountedExamples, rows: NDArray[np.int64], labels: Sequence[str]) -> Self:
        """Fit to some of the examples that were counted.

        Args:
            counted: by ``field_jobs``.
            rows: numbers of the examples to learn from.
            labels: their emotions.
        """
        self.weighings_: dict[str, Weighing] = {}
        self._chosen: dict[str, NDArray[np.int64]] = {}
        for field in FIELD_WEIGHTS:
            tokens, min_count = self._tokens_of(field), min_count_of(field, self.tokens, len(rows))
            self._chosen[field], self.weighings_[field] = Weighing.fit(
                counted.field(field, tokens), rows, tokens, min_count
            )
        gold = [Emotion(label) for label in labels]
        weights = class_weights(gold, power=self.class_weight_power)
        self.coefficients_, self.intercept_ = self.fit_linear(self._design(counted, rows), gold, weights)
        return self

    def predict_counted(self, counted: CountedExamples, rows: NDArray[np.int64]) -> Probs:
        """Return the probability of each emotion for some of the examples that ``fit_counted`` was given."""
        return softmax(self._design(counted, rows).times(self.coefficients_) + self.intercept_)

    def _design(self, counted: CountedExamples, rows: NDArray[np.int64]) -> Design:
        """Return the features of some of the counted examples."""
        blocks = [
            weighing.block(counted.field(field, weighing.tokens), rows, self._chosen[field], FIELD_WEIGHTS[field])
            for field, weighing in self.weighings_.items()
        ]
        return Design(tuple(blocks))

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
            field: Weighing.shared(terms[field], arrays[f"idf.{field}"], self._tokens_of(field)) for field in terms
        }
        self.coefficients_, self.intercept_ = arrays["coefficients"], arrays["intercept"]
        return self

    def _tokens_of(self, field: str) -> Tokens:
        return "char" if field == "name" else self.tokens

    def _rows(self, examples: Sequence[Target]) -> Iterator[Row]:
        """Yield the features of each example that are not 0, the fields side by side."""
        shifts = np.cumsum([0, *(len(weighing.terms) for weighing in self.weighings_.values())]).tolist()
        weighings = list(zip(self.weighings_.values(), FIELD_WEIGHTS.values(), shifts, strict=False))
        for texts in zip(*_columns(examples).values(), strict=True):
            parts = [
                (shift + columns, values * weight)
                for text, (weighing, weight, shift) in zip(texts, weighings, strict=True)
                for columns, values in [weighing.row(text)]
            ]
            yield np.concatenate([columns for columns, _ in parts]), np.concatenate([values for _, values in parts])


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


def min_count_of(field: str, tokens: Tokens, n_examples: int) -> int:
    """Return how many of so many examples must hold an n-gram of a field."""
    return 1 if field == "name" else min(MIN_COUNT[tokens], 1 + n_examples // 200)


def field_jobs(examples: Sequence[Target], kinds: Iterable[Tokens], *, n_fewest: int | None = None) -> list[FieldJob]:
    """Return what is to be counted of examples for members on these kinds of tokens.

    Args:
        examples: all that any member is fitted to, or asked.
        kinds: of tokens; names are of characters in any case.
        n_fewest: examples of the smallest part that a member is fitted to; all of them if None.
    """
    n_examples = len(examples) if n_fewest is None else n_fewest
    kinds_of = {field: ["char"] if field == "name" else list(kinds) for field in FIELD_WEIGHTS}
    return [
        FieldJob(field, tokens, texts, min_count_of(field, tokens, n_examples))
        for field, texts in _columns(examples).items()
        for tokens in cast(list[Tokens], kinds_of[field])
    ]


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
