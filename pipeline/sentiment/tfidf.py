"""Character n-grams and logistic regression: small, fast, and the one that heads have to beat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json
from pipeline.schema import EMOTIONS, Emotion, Target
from pipeline.sentiment.contexts import gold_emotions
from pipeline.sentiment.ngrams import NgramCounter
from pipeline.sentiment.scores import Probs, class_weights, softmax
from pipeline.text import match_key

PLACEHOLDER = "\ue000"
"""Stands for the target in its context, so that n-grams say "target + verb"; private use, in no article."""

FIELD_WEIGHTS = {"context": 1.0, "document": 1.4, "name": 0.5}
"""Fields of an example, and their weight against each other (chosen by cross-validation, as the three below)."""
NGRAMS = (1, 3)
MIN_COUNT = 10
"""Examples that must hold an n-gram of a text; fewer (1 in 200) where there are few examples."""
REGULARISATION = 1.0
"""scikit-learn's C."""

LOGIT_IF_ABSENT = -30.0
"""Of an emotion that training did not show."""


class Tfidf:
    """TF-IDF of the target's context, of the whole text and of the name, side by side, into logistic regression."""

    stops_early: ClassVar[bool] = False

    def __init__(self, *, class_weight_power: float = 0.0) -> None:
        self.class_weight_power = class_weight_power

    def fit(self, examples: Sequence[Target], dev: Sequence[Target] = ()) -> Self:
        """Fit the n-grams, their weights and the classifier."""
        self.weighings_: dict[str, _Weighing] = {}
        for field, column in _columns(examples).items():
            min_count = 1 if field == "name" else min(MIN_COUNT, 1 + len(examples) // 200)
            self.weighings_[field] = _Weighing.fit(column, min_count)
        gold = gold_emotions(examples)
        weights = class_weights(gold, power=self.class_weight_power)
        with threadpool_limits(limits=1):  # sums in one order, whatever the number of cores
            self.coefficients_, self.intercept_ = _fit_linear(self._features(examples), gold, weights)
        return self

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        """Return the probability of each emotion."""
        return softmax(self._features(examples) @ self.coefficients_ + self.intercept_)

    def save(self, folder: Path) -> None:
        """Write the n-grams as JSON and the numbers as safetensors."""
        terms = {field: weighing.terms for field, weighing in self.weighings_.items()}
        arrays = {f"idf.{field}": weighing.idf for field, weighing in self.weighings_.items()}
        arrays |= {"coefficients": self.coefficients_, "intercept": self.intercept_}
        atomic_write_json(folder / "terms.json", terms)
        atomic_write_bytes(folder / "model.safetensors", save(arrays))

    def load(self, folder: Path) -> Self:
        """Read what ``save`` wrote."""
        arrays = load_file(folder / "model.safetensors")
        terms = read_json(folder / "terms.json")
        self.weighings_ = {field: _Weighing(terms[field], arrays[f"idf.{field}"]) for field in terms}
        self.coefficients_, self.intercept_ = arrays["coefficients"], arrays["intercept"]
        return self

    def _features(self, examples: Sequence[Target]) -> sparse.csr_matrix:
        parts = []
        for field, column in _columns(examples).items():
            rows = {text: row for row, text in enumerate(dict.fromkeys(column))}
            once = self.weighings_[field].transform(list(rows))  # the targets of an article share its text
            parts.append(once[[rows[text] for text in column]] * FIELD_WEIGHTS[field])
        return sparse.hstack(parts, format="csr")


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
    """N-grams of one field and their weights: what ``TfidfVectorizer`` gives, counted faster."""

    def __init__(self, terms: list[str], idf: NDArray[np.float64]) -> None:
        self.terms = terms
        self.idf = idf
        self._counter = NgramCounter(terms, NGRAMS)
        self._transformer = TfidfTransformer(sublinear_tf=True)
        self._transformer.idf_ = idf

    @classmethod
    def fit(cls, texts: Sequence[str], min_count: int) -> Self:
        vectorizer = TfidfVectorizer(analyzer="char", ngram_range=NGRAMS, lowercase=False, min_df=min_count)
        vectorizer.fit(texts)
        return cls(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_)

    def transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        return self._transformer.transform(self._counter.transform(texts), copy=False)


def _fit_linear(
    features: sparse.csr_matrix, gold: Sequence[Emotion], weights: dict[Emotion, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients (n_features, n_emotions) and intercepts (n_emotions,), whatever emotions ``gold`` holds."""
    coefficients = np.zeros((features.shape[1], len(EMOTIONS)))
    intercept = np.full(len(EMOTIONS), LOGIT_IF_ABSENT)
    seen = sorted(set(gold))
    columns = [EMOTIONS.index(emotion) for emotion in seen]
    if len(seen) == 1:
        intercept[columns] = 0.0
        return coefficients, intercept
    model = LogisticRegression(C=REGULARISATION, max_iter=1000, tol=1e-3)
    model.fit(features, [emotion.value for emotion in gold], sample_weight=[weights[emotion] for emotion in gold])
    # Of two classes scikit-learn keeps the second alone; against a first that is zero the softmax is its sigmoid.
    rows = model.coef_ if len(seen) > 2 else np.vstack([np.zeros_like(model.coef_), model.coef_])
    offsets = model.intercept_ if len(seen) > 2 else np.array([0.0, model.intercept_[0]])
    coefficients[:, columns], intercept[columns] = rows.T, offsets
    return coefficients, intercept
