"""Encodings of text files: recognised by a rule, named by the user, and named in the error where neither fits."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.lines import iter_lines, iter_text
from pipeline.errors import DataError
from pipeline.text.encodings import likely_encoding, recognise, wide_encoding

CHINESE = "松果手机今天在云岚市发布了新品，价格没有变化。\n好评如潮\n"
TRADITIONAL = "松果手機今天在雲嵐市發佈了新品，價格沒有變化。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gbk", "gb18030"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_usual_encodings_are_recognised_and_said(
    tmp_path: Path, encoding: str, packed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    text = '{"a": 1}\n' + CHINESE if encoding in ("utf-16-le", "utf-16-be") else CHINESE
    content = text.encode(encoding)
    path = tmp_path / "rows.txt"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert [line.text for line in iter_text(path)] == text.splitlines()
    assert b"".join(line or b"" for _, line in iter_lines(path)).decode() == text
    assert len(caplog.messages) == (0 if "utf-8" in encoding else 1)


def test_an_encoding_that_is_named_is_used(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(TRADITIONAL.encode("big5"))
    assert [line.text for line in iter_text(path, "big5")] == TRADITIONAL.splitlines()
    (line,) = iter_text(path)
    assert line.fault.startswith("not UTF-8: byte 1 of the line is 0x")
    assert line.hint == "the line looks like BIG5: --encoding big5 reads the whole file so"


def test_a_damaged_line_does_not_change_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(CHINESE.encode() + "标题".encode("gbk") + b"\n")
    *sound, bad = iter_text(path)
    assert [line.text for line in sound] == CHINESE.splitlines()
    assert (bad.number, bad.fault) == (3, "not UTF-8: byte 1 of the line is 0xb1")
    assert bad.hint == "the line looks like GB18030: --encoding gb18030 reads the whole file so"
    path.write_bytes(CHINESE.encode("gbk") + b"\xff\xff\n")
    with pytest.raises(DataError, match=r"rows\.txt:3: not GB18030: byte 1"):
        list(iter_lines(path, "gbk"))


def test_a_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(CHINESE.encode() + "标题".encode()[:-1])
    assert list(iter_text(path))[-1].fault == "the file ends within a character: it was cut off"
    path.write_bytes(CHINESE.encode("utf-16")[:-1])
    with pytest.raises(DataError, match="not UTF-16: truncated data"):
        list(iter_text(path))


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=1, max_size=40))
def test_utf_8_is_never_taken_for_anything_else(text: str) -> None:
    assert recognise([text.encode()]) == "utf-8"
    assert wide_encoding(text.encode()[:4]) is None
    assert likely_encoding(b"\xff\xfe\xff") is None


def test_names_in_gbk_that_happen_to_be_utf_8_change_nothing() -> None:
    names = [name.encode("gbk") for name in ("一一", "松果手机", "云杉汽车", "海棠书店")]
    assert names[0].decode() != "一一"
    assert recognise(names) == "gb18030"
