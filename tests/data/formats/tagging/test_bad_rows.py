"""What is wrong with rows is told by file and line."""

from __future__ import annotations

import csv
import json

import pytest

from pipeline.data.formats.tagging import read_rows
from pipeline.data.formats.tagging.registry import recognise
from pipeline.errors import DataError
from tests.data.formats.tagging.rows import ENTITY_ROW, REGION, TOKEN_ROW, Write, lines, table

BAD_ROWS = {
    "empty file": ("a.jsonl", "", "a.jsonl: the file is empty, it holds no row"),
    "blank lines alone": ("a.jsonl", "\n \n", "a.jsonl: the file is empty, it holds no row"),
    "empty table": ("a.csv", "", "a.csv: the file is empty, it holds no row"),
    "header alone": ("a.csv", "text,label\n", "a.csv: the file is empty, it holds no row"),
    "other JSON": ("a.jsonl", lines({"content": "青"}), "a.jsonl:1: has neither text nor tokens"),
    "no JSON": ("a.jsonl", lines(ENTITY_ROW) + "{\n", "a.jsonl:2: not JSON"),
    "plain text": ("a.txt", "\n青禾", "a.txt:2: plain text, want entities, tags or"),
    "no entities": ("a.jsonl", lines(ENTITY_ROW, {"text": "青"}), r"a.jsonl:2: no entities \(have: text\)"),
    "entity outside": (
        "a.jsonl",
        lines({"text": "青", "entities": [{"from": 0, "to": 2}]}),
        r"a.jsonl:1: an entity lies at \[0, 2\)",
    ),
    "other entity": (
        "a.jsonl",
        lines({"text": "青禾", "entities": [{"from": 0, "to": 1, "entity": "禾"}]}),
        r"a.jsonl:1: the text reads '青' at \[0, 1\), the entity '禾'",
    ),
    "token row among others": ("a.jsonl", lines(ENTITY_ROW, TOKEN_ROW), "a.jsonl:2: no text"),
    "other row among tokens": ("a.jsonl", lines(TOKEN_ROW, ENTITY_ROW), "a.jsonl:2: no tokens"),
    "no tags": ("a.jsonl", lines({"tokens": ["青"]}), "a.jsonl:1: no tags"),
    "tokens in a string": (
        "a.jsonl",
        lines({"tokens": "青", "tags": ["O"]}),
        "a.jsonl:1: tokens is not a list but '青'",
    ),
    "fewer tags": ("a.jsonl", lines({"tokens": ["青", "禾"], "tags": ["O"]}), "a.jsonl:1: 2 tokens but 1 tags"),
    "empty token": ("a.jsonl", lines({"tokens": ["青", ""], "tags": ["O", "O"]}), "a.jsonl:1: entry 2 of tokens is ''"),
    "JSON array without end": ("a.json", "[\n " + lines(ENTITY_ROW), "a.json:3: not JSON: the array has no end"),
    "JSON array of texts": ("a.json", '["青"]', "a.json:1: has neither text nor tokens"),
    "object without end": ("a.json", '{\n"text": "青",\n', "a.json:[23]: not JSON: "),
    "label outside": (
        "a.jsonl",
        lines({"text": "青", "label": [[0, 2, "A"]]}),
        r"a.jsonl:1: an entity lies at \[0, 2\)",
    ),
    "label of text": (
        "a.jsonl",
        lines({"text": "青", "label": [[0, 1, "A"]]}, {"text": "青", "label": ["POS"]}),
        "a.jsonl:2: label holds 'POS', want \\[start, end, type\\] or",
    ),
    "number of a type": ("a.jsonl", lines({"text": "青", "label": [[0, 1, 3]]}), "a.jsonl:1: the type of a span is 3"),
    "no label": (
        "a.jsonl",
        lines({"text": "青", "label": [[0, 1, "A"]]}, {"text": "青"}),
        r"a.jsonl:2: no label or labels or entities or annotations \(have: text\)",
    ),
    "half-open CLUENER": (
        "a.json",
        lines({"text": "青禾云", "label": {"A": {"青禾": [[0, 2]]}}}),
        r"a.json:1: the text reads '青禾云' at \[0, 3\), the entity '青禾'",
    ),
    "CLUENER without names": (
        "a.json",
        lines({"text": "青", "label": {}}, {"text": "青", "label": {"A": [[0, 0]]}}),
        r"a.json:2: label A is \[\[0, 0\]\], want names",
    ),
    "CLUENER without places": (
        "a.json",
        lines({"text": "青", "label": {"A": {"青": [0, 0]}}}),
        r"a.json:1: A '青' lies at 0, want \[first, last\]",
    ),
    "region of a task outside": (
        "a.json",
        json.dumps([{"data": {"text": "青"}, "annotations": [{"result": [{"value": REGION, "type": "labels"}]}]}]),
        r"a.json:1: an entity lies at \[0, 2\)",
    ),
    "task of many texts": (
        "a.json",
        json.dumps([{"data": {"a": "青", "b": "禾"}, "annotations": []}]),
        r"a.json:1: no text \(have: a, b\)",
    ),
    "task without result": (
        "a.json",
        json.dumps([{"data": {"text": "青"}, "annotations": [5]}]),
        "a.json:1: annotations holds 5, want an object with a result",
    ),
    "spaCy outside": (
        "a.json",
        json.dumps([["青", {"entities": [[0, 2, "A"]]}]]),
        r"a.json:1: an entity lies at \[0, 2\)",
    ),
    "spaCy without type": (
        "a.json",
        json.dumps([["青", {"entities": [[0, 1, "A"], [0, 1]]}]]),
        r"a.json:1: entities holds \[0, 1\], want \[start, end, type\]",
    ),
    "XML": ("a.txt", "<?xml version='1.0'?>\n<a/>", "a.txt:1: this is XML or HTML, no plain text"),
    "brat": ("a.ann", "T1\tPER 0 3\t赵以宁\n", "a.ann: no a.txt beside it"),
    "brat under another name": ("a.txt", "T1\tPER 0 3\t赵以宁\n", "a.txt:1: this is brat annotations, no plain text"),
    "one column more": ("a.txt", "青 B-A\n禾 I-A\n\n云 杉 O\n" + "x B-A\n" * 50, "a.txt:1: plain text"),
    "one column": ("a.bio", "青\n禾\n", "a.bio:1: one column, want a token and its tag"),
    "tag ids": ("a.jsonl", lines({"tokens": ["青"], "tags": [3]}), "a.jsonl:1: tags holds numbers such as 3"),
    "plain tag among others": (
        "a.jsonl",
        lines(TOKEN_ROW, {"tokens": ["青"], "tags": ["NN"]}),
        "a.jsonl:2: tag 'NN' among tags in the notation BI",
    ),
    "mixed notations": (
        "a.jsonl",
        lines({"tokens": ["青", "禾"], "tags": ["M-A", "I-A"]}),
        "a.jsonl: tags begin with I, M: no notation",
    ),
    "no column": ("a.csv", "text,id\n青,1\n", r"a.csv:1: no column label \(have: text, id\)"),
    "other delimiter": ("a.csv", "text|label\n青|\n", r"a.csv:1: no column text and label \(have: text\|label\)"),
    "column twice": ("a.csv", "text,label,label\n青,,\n", "a.csv:1: a column occurs twice: text, label, label"),
    "too few cells": ("a.csv", 'text,label\n"青\n禾",\n青\n', "a.csv:4: 1 columns, the header has 2"),
    "open quote": ("a.csv", 'text,label\n青,\n"青,\n', "a.csv:3: not CSV: unexpected end of data"),
    "quote inside": ("a.csv", 'text,label\n"青"禾,\n', "a.csv:2: not CSV"),
    "not UTF-8": ("a.csv", b"text,label\n" + "青,\n".encode("gbk"), "a.csv:2: not UTF-8: byte 1 of the line"),
    "label not JSON": ("a.csv", table(("text", "label"), ("青", "公司")), "a.csv:2: label is not JSON"),
    "label an object": ("a.csv", table(("text", "label"), ("青", "{}")), "a.csv:2: label is not a list but {}"),
    "label of strings": (
        "a.csv",
        table(("text", "label"), ("青", '["公司"]')),
        "a.csv:2: label holds '公司', want start",
    ),
    "region without labels": (
        "a.csv",
        table(("text", "label"), ("青", '[{"start": 0, "end": 1, "labels": []}]')),
        "a.csv:2: label holds {.*}, want start, end and labels",
    ),
    "region outside": (
        "a.csv",
        table(("text", "label"), ("青", '[{"start": 0, "end": 2, "labels": ["公司"]}]')),
        r"a.csv:2: an entity lies at \[0, 2\), the text has 1 characters",
    ),
    "region of other text": (
        "a.csv",
        table(("text", "label"), ("禾青", json.dumps([REGION], ensure_ascii=False))),
        r"a.csv:2: the text reads '禾青' at \[0, 2\), the entity '青禾'",
    ),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_what_is_wrong_is_told_with_file_and_line(write: Write, name: str) -> None:
    file, content, message = BAD_ROWS[name]
    path = write(file, content)
    with pytest.raises(DataError, match=message) as caught:
        read_rows(path)
    assert caught.value.message.startswith(str(path))


@pytest.mark.parametrize("line", ["text\t\rlabel\tx\n", f"text,label,{'x' * 200_000}\n"])
def test_a_first_line_that_no_table_can_have_is_no_header(write: Write, line: str) -> None:
    """The parser of tables stops at a carriage return within a line, and at a cell longer than its limit."""
    before = csv.field_size_limit(100_000)
    try:
        assert recognise(write("rows.dat", line)) == "text"
    finally:
        csv.field_size_limit(before)
