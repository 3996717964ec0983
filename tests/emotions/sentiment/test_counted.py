"""The n-grams of all examples, counted once, against scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from pipeline.emotions.sentiment import counted
from pipeline.emotions.sentiment.counted import CountedField, FieldJob, count_examples, count_field
from pipeline.emotions.sentiment.ngrams import word_ngrams
from pipeline.errors import ArtifactError

WIDE = "松果云杉好 \n\0a\U0010ffff😀"


def dense(field: CountedField) -> np.ndarray:
    """Return how often each example holds each term."""
    found = np.zeros((len(field.text_of), len(field.terms)), dtype=np.int64)
    for row, text in zip(found, field.text_of.tolist(), strict=True):
        columns, counts = field.of_text(text)
        assert (np.diff(columns) > 0).all()
        row[columns] = counts
    return found


@given(st.lists(st.text(WIDE, min_size=3, max_size=20), min_size=1, max_size=5), st.integers(1, 3))
def test_counts_are_those_of_scikit_learn(known: list[str], n_times: int) -> None:
    known = [*known, *known[:1] * n_times]
    theirs = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False, min_df=n_times).fit(known)
    found = count_field(known, "char", min_examples=n_times)
    assert found.terms == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(dense(found), theirs.transform(known).toarray())
    np.testing.assert_array_equal(
        found.n_examples(np.arange(len(known))), (theirs.transform(known).toarray() > 0).sum(0)
    )


@given(st.lists(st.text("我们喜欢松果 \n很好a", min_size=3, max_size=20), min_size=1, max_size=4))
def test_counts_of_words_are_those_of_scikit_learn(known: list[str]) -> None:
    assume(any(map(word_ngrams, known)))
    known = [*filter(word_ngrams, known)] * 2
    theirs = CountVectorizer(analyzer=word_ngrams, min_df=2).fit(known)
    found = count_field(known, "word", min_examples=2)
    assert found.terms == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(dense(found), theirs.transform(known).toarray())


@given(
    st.lists(st.text("松果云杉", max_size=6), min_size=1, max_size=9),
    st.lists(st.integers(0, 8), max_size=12),
    st.integers(1, 4),
)
def test_some_examples_are_counted_as_if_there_were_no_others(known: list[str], chosen: list[int], block: int) -> None:
    rows = np.array([row for row in chosen if row < len(known)], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:  # several blocks, as of many texts
        patch.setattr(counted, "BLOCK", block)
        found = count_field(known, "char")
        np.testing.assert_array_equal(found.n_examples(rows), (dense(found)[rows] > 0).sum(0))


@pytest.mark.parametrize("known", [["", ""], [], [" "]])
def test_texts_without_any_ngram_have_no_terms(known: list[str]) -> None:
    assert count_field(known, "word").terms == []


def test_what_is_stored_is_what_was_counted_by_any_number_of_processes(tmp_path: Path) -> None:
    texts = ["松果很好", "云杉", "松果很好"]
    jobs = [FieldJob("name", "char", texts, 1), FieldJob("document", "word", texts, 2)]
    for workers in (1, 2):
        found = count_examples(jobs, tmp_path / str(workers), workers=workers)
        for job in jobs:
            fresh, stored = (
                count_field(texts, job.tokens, min_examples=job.min_examples),
                found.field(job.name, job.tokens),
            )
            assert stored.terms == fresh.terms
            np.testing.assert_array_equal(dense(stored), dense(fresh))


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    found = count_examples([FieldJob("name", "char", ["松果"], 1)], tmp_path)
    counts = tmp_path / "name.char" / "counts"
    whole = counts.read_bytes()
    for content in (b"", whole[:-4], whole + whole):
        counts.write_bytes(content)
        with pytest.raises(ArtifactError, match="not the n-grams"):
            found.field("name", "char")
    for content in (whole[:-1], None):
        counts.unlink() if content is None else counts.write_bytes(content)
        with pytest.raises(ArtifactError, match="counts: cannot be read"):
            found.field("name", "char")
