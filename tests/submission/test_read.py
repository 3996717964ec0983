"""Reading an upload file back: what is accepted, what is warned of, what is refused."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pipeline.errors import DataError
from pipeline.schema import Entity, occurrence_keys
from pipeline.submission import (
    check_submission,
    read_submission,
)
from tests.support.submissions import NEG, POS


def test_read_submission_accepts_what_leaves_no_doubt(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes("\ufefft1\t 松果 ,松果\tPOS,POS\r\n\r\nt2\t\t".encode())
    assert read_submission(tmp_path / "s.txt") == {"t1": (Entity("松果", POS), Entity("松果", POS)), "t2": ()}


def test_read_submission_warns_in_the_words_of_the_checker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "s.txt"
    path.write_text("t1\t松果,松果\tPOS,neg\nt2\t云杉\tPOS\nt3\t甲,甲\tPOS,POS\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        found = read_submission(path)
    assert found["t1"] == (Entity("松果", POS), Entity("松果", NEG))
    spelled, repeated, _ = map(str, check_submission(path, ["t1", "t2", "t3"]))
    assert {*caplog.messages} == {f"{path}: {repeated} (and 1 more)", f"{path}: {spelled}"}


def test_read_submission_takes_an_id_as_often_as_it_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text("t1\t甲\tPOS\nt2\t\t\nt1\t乙\tNEG\n", encoding="utf-8")
    found = read_submission(path, {"t1": 2})
    assert found == {"t1": (Entity("甲", POS),), "t2": (), "t1\t2": (Entity("乙", NEG),)}
    assert list(found) == list(occurrence_keys(["t1", "t2", "t1"]))
    with pytest.raises(DataError, match=r"s\.txt:3: newsId 't1' has an earlier line"):
        read_submission(path, {"t2": 2})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no line"),
        (b"t1\t\t\nt2\t\n", r"s\.txt:2: wrong number of tab fields: 2, want 3"),
        (b"t1\ta,b\tPOS\n", r"s\.txt:1: count mismatch: entities 2, emotions 1"),
        (b"t1\ta\tPOSS\n", r"s\.txt:1: unknown emotion: 'POSS', want POS, NORM, NEG"),
        (b"t1\ta,\tPOS,POS\n", r"s\.txt:1: empty entity"),
        (b"t1\ta,b,c,d\tPOS,POS,POS,POS\n", r"s\.txt:1: more than three entities: 4"),
        (b"t1\t\t\nt1\t\t\n", r"s\.txt:2: newsId 't1' has an earlier line"),
        (b"t1\t\xff\tPOS\n", r"s\.txt:1: invalid utf-8: byte 4"),
    ],
)
def test_read_submission_stops_with_file_and_line(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_submission(tmp_path / "s.txt")


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: cannot be read \(No such file"):
        read_submission(tmp_path / "none.txt")
    with pytest.raises(DataError, match="cannot be read"):
        check_submission(tmp_path, ["t1"])
