"""Folders of brat: every line a row, offsets of the whole text, what cannot be read is counted."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pipeline.data.formats.tagging import Form, iter_rows, read_rows, recognise
from pipeline.data.lines import tell
from pipeline.errors import DataError
from pipeline.text.spans import Span
from tests.data.formats.tagging.rows import Write

TEXT = "赵以宁来了。\n\n青禾县很大，\n何知夏在那里。\n"
ANN = (
    "T1\tPER 0 3\t赵以宁\nT2\tLOC 8 11\t青禾县\nT3\tPER 15 18\t何知夏\n"
    "R1\tLivesIn Arg1:T3 Arg2:T2\nA1\tNegation T1\n#1\tAnnotatorNotes T1\tx\n*\tEquiv T1 T3\n"
    "T4\tLOC 8 10;13 14\t青禾 ，\nT5\tX 12 17\t大， 何知\n"
)


@pytest.fixture
def folder(write: Write, caplog: pytest.LogCaptureFixture) -> Path:
    tell.cache_clear()
    caplog.set_level(logging.INFO)
    write("b.txt", TEXT)
    return write("b.ann", ANN).parent


def test_a_folder_is_read_line_by_line(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    read = read_rows(folder)
    assert recognise(folder) == "brat"
    assert [(row.line, row.text, row.spans) for row in read.rows] == [
        (1, "赵以宁来了。", (Span(0, 3, "PER"),)),
        (3, "青禾县很大，", (Span(0, 3, "LOC"),)),
        (4, "何知夏在那里。", (Span(0, 3, "PER"),)),
    ]
    assert read.rows[1].source == {"text": "青禾县很大，", "file": "b.txt", "line": 3}
    assert read.parts == [(folder / "b.txt", 3)]
    assert caplog.messages == [
        f"{folder}: rows are brat's: 3 rows, 2 types (--format settles it); "
        "not read: 2 relations, 1 attributes, 1 notes",
        f"{folder}: left out: 1 spans in several pieces, 1 spans across the end of a line",
    ]


def test_a_single_file_of_annotations_stands_for_its_text(folder: Path) -> None:
    assert len(read_rows(folder / "b.ann").rows) == 3
    assert read_rows(folder / "b.ann").parts == [(folder / "b.ann", 3)]


def test_carriage_returns_count_as_characters(write: Write) -> None:
    write("a.txt", "赵以宁\r\n青禾县\r\n")
    rows = read_rows(write("a.ann", "T1\tLOC 5 8\t青禾县\n").parent).rows
    assert [(row.text, row.spans) for row in rows] == [("赵以宁", ()), ("青禾县", (Span(0, 3, "LOC"),))]


def test_texts_without_annotations(folder: Path, write: Write, caplog: pytest.LogCaptureFixture) -> None:
    write("c.txt", "多的。\n")
    assert len(read_rows(folder).rows) == 3
    assert "1 texts without a file .ann" in caplog.messages[-1]
    assert [row.text for row in iter_rows(folder)][-1] == "多的。"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tPER 0 99\t赵", r"b.ann:1: an entity lies at \[0, 99\), the text has 23 characters"),
        ("T1\tPER 3 3\t", r"b.ann:1: an entity lies at \[3, 3\)"),
        ("T1\tPER 0 2\t赵以宁", r"b.ann:1: the text reads '赵以' at \[0, 2\), the entity '赵以宁'"),
        ("\nT1 PER 0 3 赵以宁", "b.ann:2: want T1, a tab, type, start, end, a tab and the text, not 'T1 PER"),
        ("T1\tPER x 3\t赵以宁", "b.ann:1: want T1, a tab"),
        ("hello", "b.ann:1: no line of brat's: 'hello'"),
    ],
)
def test_what_is_wrong_is_told_with_the_file_of_annotations(
    folder: Path, write: Write, line: str, message: str
) -> None:
    write("b.ann", line)
    with pytest.raises(DataError, match=message):
        read_rows(folder)


def test_folders_and_files_that_lack_their_other_half(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a folder without \.txt files"):
        read_rows(tmp_path)
    path = write("a.ann", "T1\tPER 0 3\t赵以宁\n")
    with pytest.raises(DataError, match=r"a.ann: no a.txt beside it"):
        read_rows(path)
    write("b.txt", "x")
    with pytest.raises(DataError, match=r"a.ann: no a.txt beside it"):
        read_rows(tmp_path, form=Form(format="brat"))
