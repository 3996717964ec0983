from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ArtifactError
from pipeline.nn.vocab import PADDING, UNKNOWN, Vocabulary, tokenise, window_around


def test_tokenise_keeps_latin_runs_whole() -> None:
    tokens = tokenise("银杏 app2 好。")
    assert tokens.forms == ["银", "杏", "app2", "好", "。"]
    assert tokens.starts == [0, 1, 3, 8, 9]
    assert tokens.stops == [1, 2, 7, 9, 10]


@given(st.text())
def test_tokens_are_slices_of_the_text_and_miss_only_blanks(text: str) -> None:
    tokens = tokenise(text)
    assert tokens.forms == [text[a:b] for a, b in zip(tokens.starts, tokens.stops, strict=True)]
    assert "".join(tokens.forms) == "".join(text.split())


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (0, 2, (0, 2)),
        (3, 7, (2, 3)),
        (4, 5, (2, 3)),  # a part of a run is covered by the whole run
        (2, 3, (2, 2)),  # a blank
        (8, 8, (3, 3)),
        (5, 5, (2, 2)),
        (9, 10, (4, 5)),
        (10, 10, (5, 5)),
    ],
)
def test_covering_finds_the_tokens_of_a_span(start: int, stop: int, expected: tuple[int, int]) -> None:
    assert Vocabulary([]).read("银杏 app2 好。").covering(start, stop) == expected


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(1, 40))
def test_window_keeps_the_middle_and_uses_all_its_room(left: int, middle: int, right: int, size: int) -> None:
    length = left + middle + right
    start, stop = window_around(length, left, left + middle, size)
    assert 0 <= start <= stop <= length
    assert stop - start == min(length, size)
    if middle <= size:
        assert start <= left
        assert stop >= left + middle


def test_window_cuts_away_from_the_middle() -> None:
    assert window_around(100, 50, 52, 12) == (45, 57)
    assert window_around(100, 1, 3, 12) == (0, 12)
    assert window_around(100, 97, 99, 12) == (88, 100)


def test_vocabulary_counts_from_two_the_frequent_first() -> None:
    vocabulary = Vocabulary.build(["松松松果果", "果茶"], min_count=2)
    assert vocabulary.tokens == ["松", "果"]
    assert len(vocabulary) == 4
    assert vocabulary.encode(["松", "果", "茶"]) == [2, 3, UNKNOWN]
    assert PADDING not in vocabulary.encode("松果茶")


def test_vocabulary_does_not_depend_on_the_order_of_texts() -> None:
    texts = ["松果", "果松", "茶叶茶叶"]
    assert Vocabulary.build(texts).tokens == Vocabulary.build(reversed(texts)).tokens


def test_vocabulary_refuses_repeats() -> None:
    with pytest.raises(ValueError, match="must differ"):
        Vocabulary(["松", "松"])


def test_vocabulary_survives_saving(tmp_path: Path) -> None:
    vocabulary = Vocabulary.build(['松"\u2028\\松"\u2028\\'], min_count=1)
    vocabulary.save(tmp_path / "vocab.json")
    assert Vocabulary.load(tmp_path / "vocab.json").tokens == vocabulary.tokens


def test_load_refuses_what_is_no_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"松": 2}', encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"vocab\.json: holds no list of tokens"):
        Vocabulary.load(tmp_path / "vocab.json")
