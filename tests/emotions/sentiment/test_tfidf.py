"""The members on TF-IDF: their rows against scikit-learn's, and what two of them share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from pipeline.emotions.sentiment.counted import Tokens, count_examples
from pipeline.emotions.sentiment.linear import fit_naive_bayes, fit_softmax
from pipeline.emotions.sentiment.ngrams import word_ngrams
from pipeline.emotions.sentiment.tfidf import FIELD_WEIGHTS, Tfidf, _columns, field_jobs
from pipeline.emotions.sentiment.weighing import NGRAMS
from pipeline.schema import Target

SENTENCES = ["松果茶社很好喝。", "云杉公司亏损，云杉道歉！", "", "松果  与云杉签约a1", "我们喜欢松果茶社"]


def targets() -> list[Target]:
    return [
        Target(text=f"{text}云杉", start=len(text), stop=len(text) + 2, name="云杉", document=text * 2 + "云杉")
        for text in SENTENCES
    ]


def fitted(tokens: Tokens = "char", *, naive_bayes: bool = False) -> Tfidf:
    fit = fit_naive_bayes if naive_bayes else fit_softmax
    return Tfidf(tokens=tokens, fit_linear=fit).fit(targets(), ["POS", "NEG", "NORM", "NORM", "POS"])


def dense(model: Tfidf, items: list[Target]) -> np.ndarray:
    """Return the features of examples: float64 (n_examples, n_features)."""
    features = np.zeros((len(items), len(model.coefficients_)))
    for row, (columns, values) in zip(features, model._rows(items), strict=True):
        row[columns] = values
    return features


@pytest.mark.parametrize("tokens", ["char", "word"])
def test_rows_are_those_of_scikit_learn_to_the_last_bit(tokens: Tokens) -> None:
    columns = _columns(targets())
    model = fitted(tokens)
    ours = dense(model, targets())
    theirs = []
    for field, texts in columns.items():
        is_char = tokens == "char" or field == "name"
        kind = {"analyzer": "char", "ngram_range": NGRAMS} if is_char else {"analyzer": word_ngrams}
        vectorizer = TfidfVectorizer(**kind, lowercase=False, sublinear_tf=True)
        theirs.append(vectorizer.fit(texts).transform(texts).toarray() * FIELD_WEIGHTS[field])
    np.testing.assert_array_equal(ours, np.hstack(theirs))


def test_logits_are_those_of_the_product_of_matrices_to_the_last_bit() -> None:
    model = fitted()
    logits = np.log(model.predict_proba(targets()))
    wanted = dense(model, targets()) @ model.coefficients_ + model.intercept_
    np.testing.assert_allclose(logits - logits[:, :1], wanted - wanted[:, :1], rtol=0, atol=1e-12)


def test_members_of_the_same_terms_count_once(tmp_path: Path) -> None:
    fitted().save(tmp_path / "one")
    fitted(naive_bayes=True).save(tmp_path / "two")
    fitted("word").save(tmp_path / "words")
    one, two = Tfidf().load(tmp_path / "one"), Tfidf(fit_linear=fit_naive_bayes).load(tmp_path / "two")
    words = Tfidf(tokens="word").load(tmp_path / "words")
    assert all(one.weighings_[field] is two.weighings_[field] for field in FIELD_WEIGHTS)
    assert one.weighings_["name"] is words.weighings_["name"]
    assert one.weighings_["document"] is not words.weighings_["document"]
    before = one.predict_proba(targets())
    counted = one.weighings_["document"].row.cache_info().misses
    two.predict_proba(targets())
    assert two.weighings_["document"].row.cache_info().misses == counted
    np.testing.assert_array_equal(one.predict_proba(targets()), before)


@pytest.mark.parametrize("naive_bayes", [False, True])
@pytest.mark.parametrize("tokens", ["char", "word"])
def test_counted_examples_are_fitted_and_answered_as_others(tokens: Tokens, naive_bayes: bool, tmp_path: Path) -> None:
    items = [*targets(), *targets()[1:3]]
    labels = ["POS", "NEG", "NORM", "NORM", "POS", "NEG", "POS"]
    counted = count_examples(field_jobs(items, [tokens], n_fewest=4), tmp_path)
    rows = np.array([6, 1, 2, 3])
    fit = fit_naive_bayes if naive_bayes else fit_softmax
    ours = Tfidf(tokens=tokens, fit_linear=fit).fit_counted(counted, rows, [labels[row] for row in rows])
    alone = Tfidf(tokens=tokens, fit_linear=fit).fit([items[row] for row in rows], [labels[row] for row in rows])
    assert {name: each.terms for name, each in ours.weighings_.items()} == {
        name: each.terms for name, each in alone.weighings_.items()
    }
    np.testing.assert_allclose(ours.coefficients_, alone.coefficients_, atol=1e-12)
    held_out = np.array([0, 4, 5, 1])
    probs = ours.predict_counted(counted, held_out)
    np.testing.assert_allclose(probs, ours.predict_proba([items[row] for row in held_out]), atol=1e-12)
