"""Features that are never put into one matrix, against the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from pipeline.emotions.sentiment.design import Block, Design
from pipeline.emotions.sentiment.linear import fit_naive_bayes, fit_softmax
from pipeline.schema import EMOTIONS, Emotion


def make(seed: int, n_examples: int) -> tuple[Design, np.ndarray]:
    """Return two blocks, the second with fewer texts than examples, and their matrix."""
    rng = np.random.default_rng(seed)
    matrices = [np.maximum(rng.normal(size=(n_texts, 4)), 0) for n_texts in (n_examples, 3)]
    text_of = [np.arange(n_examples), rng.integers(0, 3, n_examples)]
    blocks = [Block(sparse.csr_matrix(matrix), of) for matrix, of in zip(matrices, text_of, strict=True)]
    return Design(tuple(blocks)), np.hstack([matrix[of] for matrix, of in zip(matrices, text_of, strict=True)])


@given(st.integers(0, 1000), st.integers(1, 9))
def test_products_are_those_of_the_matrix(seed: int, n_examples: int) -> None:
    design, matrix = make(seed, n_examples)
    rng = np.random.default_rng(seed)
    assert (design.n_examples, design.n_features) == matrix.shape
    coefficients, values = rng.normal(size=(8, 3)), rng.normal(size=(n_examples, 3))
    np.testing.assert_allclose(design.times(coefficients), matrix @ coefficients, atol=1e-12)
    np.testing.assert_allclose(design.transposed_times(values), matrix.T @ values, atol=1e-12)
    np.testing.assert_allclose(design.shown_times(values[:, 0]), (matrix > 0).T @ values[:, 0], atol=1e-12)


@pytest.mark.parametrize("emotions", [tuple(EMOTIONS), (Emotion.POS, Emotion.NEG)])
def test_the_softmax_is_that_of_scikit_learn(emotions: tuple[Emotion, ...]) -> None:
    design, matrix = make(3, 60)
    gold = [emotions[row % len(emotions)] if row % 5 else emotions[0] for row in range(60)]
    weights = {emotion: 1.0 + index for index, emotion in enumerate(EMOTIONS)}
    model = LogisticRegression(C=1.0, max_iter=1000, tol=1e-3)
    model.fit(matrix, [str(emotion) for emotion in gold], sample_weight=[weights[emotion] for emotion in gold])
    theirs = np.zeros((60, len(EMOTIONS)))
    theirs[:, [EMOTIONS.index(Emotion(name)) for name in model.classes_]] = model.predict_proba(matrix)
    coefficients, intercept = fit_softmax(design, gold, weights)
    logits = matrix @ coefficients + intercept
    ours = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_naive_bayes_needs_no_matrix_either() -> None:
    design, matrix = make(4, 40)
    gold = [EMOTIONS[row % 3] for row in range(40)]
    whole = Design((Block(sparse.csr_matrix(matrix), np.arange(40)),))
    weights = dict.fromkeys(EMOTIONS, 1.0)
    for ours, theirs in zip(fit_naive_bayes(design, gold, weights), fit_naive_bayes(whole, gold, weights), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
