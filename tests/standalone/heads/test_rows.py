"""Readers of labelled rows: every form, offsets in the normalised text, and what is wrong by file and line."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.sentiment import RowKind
from pipeline.data.formats.sentiment.readers import target_examples
from pipeline.errors import DataError
from pipeline.schema import Emotion
from pipeline.standalone.heads.rows import SentimentFile, read_rows, row_kind

Write = Callable[..., Path]

TARGET = {"text": "云杉汽车很好，青禾科技很差。", "target": "青禾科技", "from": 7, "to": 11, "polarity": "NEG"}
DOCUMENT = {"text": "口碑很好！", "label": "好评"}
CATEGORY = {"text": "The soup was COLD.", "category": "Food", "polarity": "NEG"}
ARTICLE = {
    "newsId": "a1",
    "title": "云杉汽车上市",
    "content": "云杉汽车今天上市。青禾科技没有回应。",
    "coreEntityEmotions": [{"entity": "云杉汽车", "emotion": "POS"}, {"entity": "青禾科技", "emotion": "NORM"}],
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*rows: object, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        content = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def read(path: Path) -> SentimentFile:
    return read_rows(path, max_context_chars=100)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (TARGET, RowKind.TARGET),
        ({**TARGET, "category": "Corporate"}, RowKind.TARGET),
        (DOCUMENT, RowKind.DOCUMENT),
        (CATEGORY, RowKind.CATEGORY),
        (ARTICLE, RowKind.ARTICLE),
        ({"text": "a", "targets": [{"target": "a", "polarity": "POS"}]}, RowKind.TARGET),
    ],
)
def test_form_is_recognised_by_the_first_row(write: Write, row: object, kind: RowKind) -> None:
    assert row_kind(write(row)) is kind
    assert read(write(row, row, name="b.jsonl.gz")).kind is kind


def test_target_row_marks_its_target_in_the_normalised_text(write: Write) -> None:
    text = "ＡＢＣ…  Nova X\u200b 好"
    start = text.index("Nova")
    row = {"text": text, "target": "Nova X", "from": start, "to": start + 6, "polarity": "positive", "group": "g"}
    (found,) = read(write(row)).rows
    example = found.example
    assert example.text == "abc... nova x 好"
    assert example.text[example.start : example.stop] == "nova x"
    assert (example.name, example.emotion, example.group) == ("Nova X", Emotion.POS, "g")
    assert example.mentions == ((example.start, example.stop),)
    assert (found.label, found.where) == ("POS", f"{write(row)}:1")


def test_rows_of_one_text_are_one_group_and_their_document_is_the_text(write: Write) -> None:
    other = {**TARGET, "target": "云杉汽车", "from": 0, "to": 4, "polarity": "POS"}
    first, second, third = read(write(TARGET, other, {**TARGET, "text": TARGET["text"] + "！"})).rows
    assert first.example.group == second.example.group == first.example.document
    assert third.example.group != first.example.group


def test_row_with_several_targets_gives_an_example_for_each(write: Write) -> None:
    entries = [{"target": "青禾科技", "polarity": "NEG"}, {"target": "云杉汽车", "from": 0, "to": 4, "polarity": "POS"}]
    file = read(write({"text": TARGET["text"], "targets": entries}))
    places = [(row.example.start, row.example.stop, row.label) for row in file.rows]
    assert places == [(7, 11, "NEG"), (0, 4, "POS")]
    assert file.classes == ["POS", "NEG"]


def test_target_without_offsets_is_its_first_occurrence(write: Write) -> None:
    (row,) = read(write({"text": "好云杉，坏云杉", "target": "云杉", "polarity": "NORM"})).rows
    assert (row.example.start, row.example.stop) == (1, 3)


@given(before=st.text(max_size=20), name=st.text(min_size=1, max_size=8), after=st.text(max_size=20))
def test_marked_characters_are_those_of_the_target(before: str, name: str, after: str) -> None:
    row = {"text": before + name + after, "target": name, "polarity": "POS"}
    row |= {"from": len(before), "to": len(before) + len(name)}
    if not name.strip():
        return
    ((example, label),) = target_examples(row)
    assert example.name == name
    assert label == "POS"
    assert 0 <= example.start <= example.stop <= len(example.text)
    assert example.text[example.start : example.stop].strip() == example.text[example.start : example.stop]


def test_category_stands_above_the_text_as_the_target(write: Write) -> None:
    (row,) = read(write(CATEGORY)).rows
    assert row.example.text == "food\nthe soup was cold."
    assert (row.example.start, row.example.stop, row.label) == (0, 4, "NEG")
    assert row.example.group == row.example.document == "the soup was cold."


def test_document_has_no_target_and_any_label(write: Write) -> None:
    file = read(
        write(DOCUMENT, {"text": "x", "label": 1}, {"text": "y", "label": True}, {"text": "z", "label": " 差 "})
    )
    assert [row.label for row in file.rows] == ["好评", "1", "True", "差"]
    assert {(row.example.start, row.example.stop, row.example.name) for row in file.rows} == {(0, 0, "")}
    assert file.classes == ["1", "True", "好评", "差"]


def test_article_gives_an_example_for_each_entity_and_reposts_are_one_group(write: Write) -> None:
    file = read(write(ARTICLE, {**ARTICLE, "newsId": "b2"}))
    assert [(row.example.name, row.label) for row in file.rows[:2]] == [("云杉汽车", "POS"), ("青禾科技", "NORM")]
    assert {row.example.group for row in file.rows} == {"a1"}
    assert "newsId b2" in file.rows[-1].where


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**TARGET, "from": 6, "to": 10}, "the text reads '，青禾科' at [6, 10), the target '青禾科技'"),
        ({**TARGET, "to": 99}, "target '青禾科技' lies at [7, 99), the text has 14 characters"),
        ({**TARGET, "from": 11, "to": 7}, "lies at [11, 7)"),
        ({**TARGET, "to": None}, "lies at [7, None)"),
        ({**TARGET, "target": " "}, "target is ' ', want text"),
        ({**TARGET, "polarity": "conflict"}, "label 'conflict' is not one of POS, NORM, NEG, nor a usual name of one"),
        ({**TARGET, "polarity": 1}, "label 1 is a number, and what 1 mean is not known"),
        ({"text": "云杉", "target": "云杉"}, "no polarity"),
        ({**TARGET, "text": None}, "text is not text but None"),
        ({**TARGET, "text": " "}, "text is empty"),
        ({"text": "云杉", "targets": []}, "targets is [], want a list of objects"),
        ({"text": "云杉", "targets": [{"polarity": "POS"}]}, "no target"),
        (DOCUMENT, "a document row, those before are target rows"),
        ({"text": "云杉"}, "another row, those before are target rows"),
    ],
)
def test_wrong_target_row_is_named_by_file_and_line(write: Write, row: object, message: str) -> None:
    path = write(TARGET, row)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:2: .*{re.escape(message)}"):
        read(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x", "label": None}, "no label"),
        ({"text": "x", "label": ""}, "label is '', want text or a number"),
        ({"text": "x", "label": [1]}, "label is [1], want text or a number"),
        ({"label": "好评"}, "no text"),
    ],
)
def test_wrong_document_row_is_named_by_file_and_line(write: Write, row: object, message: str) -> None:
    path = write(DOCUMENT, row)
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}:2: {message}')}$"):
        read(path)


def test_other_files_are_refused(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl:1: want label, target, category or newsId \(have: text\)"):
        read(write({"text": "x"}))
    with pytest.raises(DataError, match="category is '', want text that is not empty"):
        read(write({**CATEGORY, "category": ""}))
    with pytest.raises(DataError, match="no article names an entity"):
        read(write({**ARTICLE, "coreEntityEmotions": []}))
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n")
    with pytest.raises(DataError, match="the file is empty"):
        read(empty)
