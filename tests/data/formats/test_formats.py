"""Each format of files: recognised by name or first line, and read to the right values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.data.formats.registry import FORMATS, iter_objects, iter_records, recognise
from pipeline.data.read import Reading
from pipeline.errors import ConfigError, DataError

SEMEVAL = """<?xml version="1.0" encoding="UTF-8"?>
<sentences>
  <sentence id="1">
    <text>屏幕很好，电池一般</text>
    <aspectTerms>
      <aspectTerm term="屏幕" polarity="positive" from="0" to="2"/>
      <aspectTerm term="电池" polarity="conflict" from="5" to="7"/>
    </aspectTerms>
  </sentence>
</sentences>
"""
ATEPC = "屏 B-ASP Positive\n幕 I-ASP Positive\n好 O -100\n\n电 B-ASP -100\n池 I-ASP -100\n差 O -100\n"
EXAMPLES = {
    "csv": ("text,label\n好,POS\n", [(2, {"text": "好", "label": "POS"})]),
    "tsv": ("text\tlabel\n好\tPOS\n", [(2, {"text": "好", "label": "POS"})]),
    "json": ('[\n {"a": 1},\n {"a":\n 2}]', [(2, {"a": 1}), (3, {"a": 2})]),
    "jsonl": ('\n{"a": 1}\n\n{"a": 2}', [(2, {"a": 1}), (4, {"a": 2})]),
    "triples": (
        "这$T$好\n屏幕\n-1\n",
        [(1, {"text": "这屏幕好", "target": "屏幕", "from": 1, "to": 3, "polarity": "-1"})],
    ),
    "atepc": (
        ATEPC,
        [(1, {"text": "屏幕好", "targets": [{"target": "屏幕", "from": 0, "to": 2, "polarity": "Positive"}]})],
    ),
    "semeval": (
        SEMEVAL,
        [
            (
                3,
                {
                    "text": "屏幕很好，电池一般",
                    "targets": [
                        {"target": "屏幕", "from": 0, "to": 2, "polarity": "positive"},
                        {"target": "电池", "from": 5, "to": 7, "polarity": "conflict"},
                    ],
                },
            )
        ],
    ),
    "sohu2022": (
        '{"id": 1, "content": "青禾好", "entity": {"青禾": 2, "云杉": -1}}\n',
        [
            (
                1,
                {
                    "text": "青禾好",
                    "targets": [
                        {"target": "青禾", "polarity": "positive"},
                        {"target": "云杉", "polarity": "negative"},
                    ],
                },
            )
        ],
    ),
}


def test_every_format_has_an_example() -> None:
    assert set(EXAMPLES) == set(FORMATS)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_format_is_recognised_and_read(tmp_path: Path, name: str, encoding: str) -> None:
    content, rows = EXAMPLES[name]
    path = tmp_path / "rows.txt"
    path.write_bytes(content.replace("\n", "\r\n").encode(encoding))
    assert list(iter_objects(path)) == rows
    assert list(iter_objects(path, Reading(name))) == rows


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_stands_for_one_format_alone(name: str) -> None:
    content, _ = EXAMPLES[name]
    assert recognise("rows", content.lstrip().splitlines()[0]) in (name, "csv" if name == "tsv" else name)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.csv", "text,label\n好,POS,x\n", r"a\.csv:2: 3 columns, the header has 2"),
        ("a.csv", "text,text\n好,POS\n", r"a\.csv:1: a column occurs twice: text, text"),
        ("a.csv", 'text,label\n"好,POS\n', r"a\.csv:2: not CSV: unexpected end of data"),
        ("a.json", '[{"a": 1},\n{"a": 2}', r"a\.json:\d: not JSON: the array has no end"),
        ("a.json", '[{"a": 1},\n{"a" 2}]', r"a\.json:\d: not JSON: Expecting ':'"),
        ("a.json", '[{"a": 1}]\n{}', r"a\.json:2: not JSON: something follows the array"),
        ("a.json", '[{"a": NaN}]', r"a\.json:1: not JSON: NaN is not a JSON value"),
        ("a.seg", "$T$好\n屏幕\n", r"a\.seg:1: 2 of the three lines of a row"),
        ("a.seg", "$T$好$T$\n屏幕\n1\n", r"a\.seg:1: the text has 2 times \$T\$"),
        ("a.dat", "屏 B-ASP Positive\n幕 好\n", r"a\.dat:2: want a token"),
        ("a.xml", "<sentences><sentence></text>", r"a\.xml:1: not XML: mismatched tag"),
        ("a.xml", "<sentences>\n<sentence>", r"a\.xml:2: not XML: no element found|unclosed token"),
        ("a.xml", "<?xml version='1.0'?>\n<!DOCTYPE x>", r"a\.xml:2: XML with declarations"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, name: str, content: str, fault: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=fault):
        list(iter_objects(path))


def test_an_array_is_read_element_by_element(tmp_path: Path) -> None:
    rows = [{"number": number, "text": "长" * 999, "nested": [{"x": "]"}]} for number in range(300)]
    path = tmp_path / "rows.json"
    for indent in (None, 2):
        path.write_text(json.dumps(rows, ensure_ascii=False, indent=indent), encoding="utf-8")
        assert [row for _, row in iter_objects(path)] == rows
    path.write_text("[]", encoding="utf-8")
    assert list(iter_objects(path)) == []


def test_columns_are_read_under_our_names(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id;标题;text\n1;甲;乙\n", encoding="utf-8")
    reading = Reading(columns={"newsId": "id", "title": "标题", "content": "text"})
    assert list(iter_objects(path, reading)) == [(2, {"newsId": "1", "title": "甲", "content": "乙"})]
    swapped = Reading(columns={"id": "text", "text": "id", "extra": ""})
    assert list(iter_objects(path, swapped)) == [(2, {"text": "1", "标题": "甲", "id": "乙", "extra": ""})]
    with pytest.raises(DataError, match=r"rows\.csv:2: no column body \(have: id, 标题, text\)"):
        list(iter_records(path, Reading(columns={"content": "body"})))


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown format 'xlsx'"):
        list(iter_records(path, Reading("xlsx")))
    with pytest.raises(ConfigError, match="unknown encoding 'klingon'"):
        list(iter_records(path, Reading(encoding="klingon")))
    with pytest.raises(ConfigError, match="unknown encoding 'rot13'"):
        list(iter_records(path, Reading(encoding="rot13")))
