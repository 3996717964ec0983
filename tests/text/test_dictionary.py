"""Dictionaries: matching against a naive search, and reading lists of names from every sort of file."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.text import dictionary
from pipeline.text.dictionary import (
    MAX_LINE_BYTES,
    Matcher,
    check_dictionary,
    has_word_boundaries,
    occurrences,
    read_dictionary,
)

ALPHABET = "松果ab1 ·"
names = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=4)


def naive_boundaries(text: str, start: int, stop: int) -> bool:
    latin = [char.isascii() and char.isalnum() for char in text]
    cuts_left = start > 0 and latin[start - 1] and latin[start]
    cuts_right = stop < len(text) and latin[stop - 1] and latin[stop]
    return not cuts_left and not cuts_right


def naive_find(text: str, wanted: list[str]) -> list[tuple[int, int]]:
    spans = []
    for start in range(len(text)):
        for stop in range(start + 1, len(text) + 1):
            if text[start:stop] in wanted and naive_boundaries(text, start, stop):
                spans.append((start, stop))
    return spans


@given(st.lists(names, max_size=6), st.text(st.sampled_from(ALPHABET), max_size=30))
def test_finds_what_a_double_loop_finds(wanted: list[str], text: str) -> None:
    found = list(Matcher(wanted).find(text))
    assert sorted(found) == naive_find(text, wanted)
    assert [stop for _, stop in found] == sorted(stop for _, stop in found)
    anywhere = [(a, b) for a in range(len(text)) for b in range(a + 1, len(text) + 1) if text[a:b] in wanted]
    assert sorted(Matcher(wanted).find_anywhere(text)) == anywhere


@given(st.text(max_size=20), st.data())
def test_word_boundaries(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, max(len(text) - 1, 0)))
    stop = data.draw(st.integers(min(start + 1, len(text)), len(text)))
    if start < stop:
        assert has_word_boundaries(text, start, stop) == naive_boundaries(text, start, stop)


def test_overlapping_names_are_all_found() -> None:
    assert sorted(Matcher(["松果", "松果手机", "果手", "手机"]).find("松果手机")) == [(0, 2), (0, 4), (1, 3), (2, 4)]


@pytest.mark.parametrize(
    ("name", "text", "n_found"),
    [
        ("nova", "nova2 nova", 1),
        ("nova", "买nova吧", 1),
        ("nova", "supernova", 0),
        ("2", "nova2", 0),
        ("x9", "x99 x9,x9", 2),
        ("松果2", "松果22", 0),
        ("松果2", "松果2号", 1),
        ("é", "caféx", 1),
    ],
)
def test_latin_names_match_whole_runs_only(name: str, text: str, n_found: int) -> None:
    assert len(list(Matcher([name]).find(text))) == n_found


def test_membership_and_size() -> None:
    matcher = Matcher(["松果", "云杉", "松果"])
    assert len(matcher) == 2
    assert "松果" in matcher
    assert "松" not in matcher


def test_no_names_match_nothing() -> None:
    assert list(Matcher([]).find("松果")) == []
    assert len(Matcher([])) == 0


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("file", ["names.txt", "names.txt.gz"])
def test_reads_sorted_distinct_keys(tmp_path: Path, file: str) -> None:
    content = "\ufeff云杉\r\n\n  松果  \r\nＮＯＶＡ　2\nnova 2\n松果\n一\n" + "长" * 21 + "\n末行"
    assert read_dictionary(write(tmp_path / file, content.encode())) == sorted(["云杉", "松果", "nova 2", "末行"])


def test_bounds_count_normalised_characters(tmp_path: Path) -> None:
    path = write(tmp_path / "names.txt", "一\n二二\n三三三\n&amp;a\n\u200b四\u200b四\u200b\n".encode())
    assert read_dictionary(path, min_chars=1, max_chars=2) == ["&a", "一", "二二", "四四"]
    assert read_dictionary(path, min_chars=3, max_chars=3) == ["三三三"]


def test_names_with_an_inner_break_are_left_out(tmp_path: Path) -> None:
    assert read_dictionary(write(tmp_path / "names.txt", "松果<br>云杉\n海棠\n".encode())) == ["海棠"]


Read = Callable[[Path], object]


@pytest.fixture(params=[read_dictionary, check_dictionary])
def read(request: pytest.FixtureRequest) -> Read:
    """What reads a dictionary, and what finds beforehand that it cannot be read."""
    found: Read = request.param
    return found


def test_missing_file(read: Read, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.txt: no such dictionary file"):
        read(tmp_path / "nowhere.txt")


def test_folder(read: Read, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read: .*directory"):
        read(tmp_path)


def test_not_utf8_names_the_line(read: Read, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"names\.txt:2: not UTF-8 at byte 2"):
        read(write(tmp_path / "names.txt", "松果\nab".encode() + b"\xff\n"))


def test_a_line_of_megabytes_is_refused_unread(read: Read, tmp_path: Path) -> None:
    path = write(tmp_path / "names.txt", "松果\n".encode() + b"x" * (MAX_LINE_BYTES + 1))
    with pytest.raises(DataError, match=rf"names\.txt:2: line of over {MAX_LINE_BYTES} bytes"):
        read(path)


@pytest.mark.parametrize("content", ["", "\n\n", "一\n二\n", "\ufeff"])
def test_no_usable_name(read: Read, tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=r"names\.txt: holds no name of 2 to 20 characters"):
        read(write(tmp_path / "names.txt", content.encode()))


def test_damaged_gzip(read: Read, tmp_path: Path) -> None:
    whole = gzip.compress("松果\n云杉\n".encode() * 50)
    flipped = whole[:12] + bytes(255 - byte for byte in whole[12:20]) + whole[20:]
    for damaged in (whole[:-9], flipped, b"not gzip at all"):
        (tmp_path / "names.txt.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"names\.txt\.gz: cannot be read"):
            read(tmp_path / "names.txt.gz")


@given(st.sets(st.text("松果ab1", min_size=1, max_size=3), max_size=6), st.text("松果ab1 \n", max_size=30))
def test_occurrences_are_those_of_a_matcher(names: set[str], text: str) -> None:
    listed, matcher = sorted(names), Matcher(names)
    for anywhere, wanted in ((False, matcher.find(text)), (True, matcher.find_anywhere(text))):
        rows, starts = occurrences(listed, text, anywhere=anywhere)
        found = [(start, start + len(listed[row])) for row, start in zip(rows.tolist(), starts.tolist(), strict=True)]
        assert found == list(wanted)


@given(st.sets(st.text("松果ab1", min_size=1, max_size=3), max_size=6), st.text("松果ab1 \n", max_size=30))
def test_few_texts_are_looked_through_with_the_same_result(names: set[str], text: str) -> None:
    plain, patient = Matcher(names), Matcher(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionary, "MANY_NAMES", 0)
        found = [list(patient.find(text)), list(patient.find_anywhere(text))]
    assert "_automaton" not in vars(patient)
    assert found == [list(plain.find(text)), list(plain.find_anywhere(text))]


def test_the_automaton_is_built_for_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "MANY_NAMES", 1)
    monkeypatch.setattr(dictionary, "FEW_TEXTS", 2)
    matcher = Matcher(["松果"])
    built = []
    for _ in range(3):
        assert list(matcher.find("松果")) == [(0, 2)]
        built.append("_automaton" in vars(matcher))
    assert built == [False, False, True]
