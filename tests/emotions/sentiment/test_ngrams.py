"""The n-gram counters against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from pipeline.emotions.sentiment.ngrams import NgramCounter, WordCounter, word_ngrams

Counter = NgramCounter | WordCounter


def matrix(counter: Counter, texts: list[str], n_terms: int) -> np.ndarray:
    counts = np.zeros((len(texts), n_terms), dtype=np.int64)
    for row, text in enumerate(texts):
        columns, found = counter.count(text)
        assert (np.diff(columns) > 0).all()
        counts[row, columns] = found
    return counts


texts = st.lists(st.text("松果云杉好 \n\0a\U0010ffff😀", max_size=12), max_size=5)


@given(st.lists(st.text("松果云杉好 \n\0a\U0010ffff😀", min_size=3, max_size=20), min_size=1, max_size=4), texts)
def test_counts_are_those_of_scikit_learn(known: list[str], asked: list[str]) -> None:
    theirs = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False).fit(known)
    terms = theirs.get_feature_names_out().tolist()
    counts = matrix(NgramCounter(terms, (1, 3)), [*known, *asked], len(terms))
    np.testing.assert_array_equal(counts, theirs.transform([*known, *asked]).toarray())


@given(st.lists(st.text("我们喜欢松果 \n很好a", min_size=3, max_size=20), min_size=1, max_size=4), texts)
def test_counts_of_words_are_those_of_scikit_learn(known: list[str], asked: list[str]) -> None:
    assume(any(map(word_ngrams, known)))
    theirs = CountVectorizer(analyzer=word_ngrams).fit(known)
    terms = theirs.get_feature_names_out().tolist()
    counts = matrix(WordCounter(terms), [*known, *asked], len(terms))
    np.testing.assert_array_equal(counts, theirs.transform([*known, *asked]).toarray())


def test_texts_without_any_ngram_have_no_terms() -> None:
    assert [part.tolist() for part in NgramCounter([], (1, 3)).count("松果")] == [[], []]
    assert [part.tolist() for part in WordCounter([]).count("松果")] == [[], []]


def test_columns_follow_the_terms_in_any_order() -> None:
    counter = NgramCounter(["果", "松果", "松"], (1, 2))
    assert matrix(counter, ["松果松", "", "云"], 3).tolist() == [[1, 1, 2], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(("terms", "sizes"), [(["松果云杉"], (1, 3)), (["松"], (1, 4)), (["松"], (0, 1))])
def test_longer_ngrams_are_refused(terms: list[str], sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 to 3"):
        NgramCounter(terms, sizes)
