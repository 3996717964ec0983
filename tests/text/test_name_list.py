"""Lists of names in every layout and encoding, and what is counted of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import DataError
from pipeline.text.dictionary import load_dictionary
from pipeline.text.name_list import Layout, layout_of
from tests.support.paths import FILES

INPUTS = FILES / "inputs"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("dict_gbk.txt", ["优晷", "投影仪"]),
        ("dict_jieba_format.txt", ["优晷", "投影仪", "映舟", "番茄炖牛腩"]),
        ("dict_comment_single.txt", ["c", "优晷", "投影仪", "霾"]),
    ],
)
def test_the_files_of_the_report(name: str, keys: list[str]) -> None:
    found = load_dictionary(INPUTS / name, min_chars=1)
    assert found.keys == keys
    assert found.summary() == f"{len(keys)} names read, {len(keys)} kept"


@pytest.mark.parametrize(
    ("name", "content", "keys"),
    [
        ("a.txt", "松果 3\n云杉 12 nz\n", ["云杉", "松果"]),
        ("a.txt", "nova 2\nnova 3\n", ["nova 2", "nova 3"]),
        ("a.txt", "nova 2 nz\nnova 3 nz\n", ["nova"]),
        ("a.txt", "松果\tnz\t3\n云杉 集团\tnt\t1\n", ["云杉 集团", "松果"]),
        ("a.csv", 'name,type\n松果,ORG\n"云杉, 集团",ORG\n', ["云杉, 集团", "松果"]),
        ("a.csv", "松果,ORG\n云杉,ORG\n", ["云杉", "松果"]),
        ("a.tsv", "词\t词性\n松果\tnz\n", ["松果"]),
        ("a.txt", "# 松果 3 nz\n云杉 3 nz\n", ["云杉"]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_layouts(tmp_path: Path, name: str, content: str, keys: list[str], encoding: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode(encoding))
    assert load_dictionary(path).keys == keys


def test_layouts_have_names() -> None:
    assert layout_of(Path("a.txt"), ["松果", "云杉 3 nz"]) is Layout.LINES
    assert layout_of(Path("a.txt"), []) is Layout.LINES


def test_what_is_dropped_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("松果\n松果\n一\n" + "长" * 21 + "\n# 云杉\n甲<br>乙\n", encoding="utf-8")
    found = load_dictionary(path, min_chars=2)
    assert found.summary() == (
        "5 names read, 1 kept, 1 repeated, 1 shorter than 2 characters, 1 longer than 20 characters,"
        " 1 with a line break inside"
    )


def test_a_line_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("松果手机\n云杉汽车\n".encode() + "海棠".encode("gbk") + b"\n")
    with pytest.raises(DataError, match=r"names\.txt:3: not UTF-8 at byte 0") as caught:
        load_dictionary(path)
    assert "looks like GB18030" in str(caught.value.hint)
