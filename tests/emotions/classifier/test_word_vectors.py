from __future__ import annotations

import gzip
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.emotions.classifier.word_vectors import read_word_vectors
from pipeline.errors import DataError

WORDS = ["the", "松果", "茶社", "sour", "甜"]
MATRIX = np.array([[i + 0.5, -i / 4, 2.0**-i] for i in range(5)], dtype=np.float32)


def as_text(words: list[str], matrix: np.ndarray, *, header: bool) -> bytes:
    rows = [" ".join([word, *map(repr, map(float, row))]) for word, row in zip(words, matrix, strict=True)]
    return "".join(f"{row}\n" for row in ([f"{len(words)} {matrix.shape[1]}"] if header else []) + rows).encode()


def as_binary(words: list[str], matrix: np.ndarray, *, line_feeds: bool = True) -> bytes:
    rows = [word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) for word, row in zip(words, matrix, strict=True)]
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(row + b"\n" * line_feeds for row in rows)


FORMS = {
    "glove": as_text(WORDS, MATRIX, header=False),
    "word2vec text": as_text(WORDS, MATRIX, header=True),
    "word2vec text, CRLF": as_text(WORDS, MATRIX, header=True).replace(b"\n", b"\r\n"),
    "word2vec text, blank at the end of rows": as_text(WORDS, MATRIX, header=True).replace(b"\n", b" \n"),
    "word2vec binary": as_binary(WORDS, MATRIX),
    "word2vec binary without line feeds": as_binary(WORDS, MATRIX, line_feeds=False),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_gives_the_same_vectors(tmp_path: Path, form: str, packed: bool) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])
    found = read_word_vectors(path, WORDS)
    assert found.dim == 3
    assert list(found.vectors) == WORDS
    np.testing.assert_array_equal(np.array(list(found.vectors.values())), MATRIX)


@pytest.mark.parametrize("form", FORMS)
def test_only_wanted_and_first_words_are_kept(tmp_path: Path, form: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(FORMS[form])
    assert list(read_word_vectors(path, {"甜", "山泉"}).vectors) == ["甜"]
    assert list(read_word_vectors(path, {"甜"}, first=2).vectors) == ["the", "松果", "甜"]


names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=6)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.dictionaries(names, st.lists(finite, min_size=4, max_size=4), min_size=1, max_size=6), st.booleans())
def test_what_is_written_is_read(tmp_path: Path, vectors: dict, header: bool) -> None:
    words, matrix = list(vectors), np.array(list(vectors.values()), dtype=np.float32)
    path = tmp_path / "vectors"
    for content in (as_text(words, matrix, header=header), as_binary(words, matrix)):
        path.write_bytes(content)
        found = read_word_vectors(path, words)
        assert list(found.vectors) == words
        np.testing.assert_array_equal(np.array(list(found.vectors.values())), matrix)


def test_words_may_hold_blanks_and_the_first_of_repeated_words_counts(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes("甜 1 2\n. . . 3 4\n甜 5 6\n".encode())
    found = read_word_vectors(path, ["甜", ". . ."])
    assert {word: vector.tolist() for word, vector in found.vectors.items()} == {"甜": [1, 2], ". . .": [3, 4]}


TEXT, BINARY = FORMS["word2vec text"], FORMS["word2vec binary"]
DAMAGED = {
    "empty": (b"", ": is empty"),
    "header alone": (b"5 3\n", ":1: header says 5 words, the file has 0"),
    "absurd header": (b"5 0\n", ":1: header says 5 words of 0 values"),
    "a word alone": ("松果\n".encode(), ":1: 0 values, want 1"),
    "too few values": (b"the 1 2 3\nsour 1 2\n", ":2: 2 values, want 3"),
    "too many values": (b"the 1 2 3\nsour 1 2 3 4\n", ":2: 4 values, want 3"),
    "values unlike the header": (b"2 3\nthe 1 2 3 4\nsour 1 2 3 4\n", ":2: 4 values, want 3"),
    "no number": (b"the 1 2 3\nsour 1 x 3\n", ":2: word 'sour' has a value that is no number"),
    "not finite": (b"the 1 2 3\nsour 1 nan 3\n", ":2: word 'sour' has a value that is not finite"),
    "blank line": (b"the 1 2 3\n\nsour 1 2 3\n", ":2: blank line"),
    "not UTF-8": (b"the 1 2 3\n\xff\xfe 1 2 3\n", ":2: the word is not UTF-8"),
    "fewer rows than the header says": (
        TEXT[: TEXT.rindex("甜".encode())],
        ":1: header says 5 words, the file has 4",
    ),
    "binary cut within a vector": (BINARY[:-3], ": word 5 of 5: the file ends within its 3 values"),
    "binary cut between words": (BINARY[: BINARY.rindex("甜".encode())], ": word 5 of 5: the file ends before it"),
    "binary that goes on": (BINARY + b"abc", ": goes on after its 5 words of 3 values"),
    "binary not finite": (
        as_binary(["the"], np.array([[1, np.inf]])),
        ": word 1 of 1: word 'the' has a value that is not",
    ),
    "gzip cut": (gzip.compress(TEXT)[:-9], ": word vectors cannot be read"),
    "gzip damaged": (gzip.compress(TEXT)[:12] + b"\x07" * 40, ": word vectors cannot be read"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_named_with_their_place(tmp_path: Path, case: str) -> None:
    path = tmp_path / "vectors"
    content, message = DAMAGED[case]
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(str(path) + message)) as caught:
        read_word_vectors(path, {*WORDS, "the", "sour"}, first=9)
    assert "\n" not in caught.value.message


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: word vectors cannot be read \(No such file"):
        read_word_vectors(tmp_path / "none.txt", [])
