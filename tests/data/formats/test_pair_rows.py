from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pipeline.data.formats.pair_rows import TEXT_KEYS, PairWriter, iter_pairs, read_pairs, table_separator
from pipeline.errors import DataError


def write(path: Path, content: str) -> Path:
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("keys", TEXT_KEYS)
@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "csv.gz"])
def test_every_form_and_name_is_read_alike(keys: tuple[str, str], form: str, tmp_path: Path) -> None:
    first, second = keys[0].upper(), keys[1]
    if form == "jsonl":
        row = {"id": 7, first: "松果", second: "云杉", "label": 1}
        content = json.dumps(row, ensure_ascii=False) + "\n\n"
    else:
        separator = "\t" if form == "tsv" else ","
        content = "\ufeff" + "\r\n".join(
            map(separator.join, [("id", first, second, "label"), ("7", "松果", "云杉", "1")])
        )
    [row] = read_pairs(write(tmp_path / f"pairs.{form}", content))
    assert (row.left, row.right, row.label) == ("松果", "云杉", 1.0)


def test_labels_are_numbers_of_any_spelling(tmp_path: Path) -> None:
    values = [True, False, 1, 0.25, "3.5", "1"]
    rows = "".join(json.dumps({"a": "x", "b": "", "score": value}) + "\n" for value in values)
    assert [row.label for row in read_pairs(write(tmp_path / "a.jsonl", rows))] == [1.0, 0.0, 1.0, 0.25, 3.5, 1.0]


def test_quotes_mean_nothing_in_tsv_and_cells_of_csv_may_hold_lines(tmp_path: Path) -> None:
    [row] = read_pairs(write(tmp_path / "a.tsv", 'a\tb\tlabel\n"松果\t云 "杉\t0\n'))
    assert (row.left, row.right) == ('"松果', '云 "杉')
    path = write(tmp_path / "a.csv", 'a,b,label\n"松\n果",云杉,1\n银杏,,2\n')
    assert [(row.line, row.left) for row in read_pairs(path)] == [(2, "松\n果"), (4, "银杏")]


BAD = {
    "no texts": ("a.jsonl", '{"a": "x", "text_b": "y", "label": 1}\n', r"a\.jsonl:1: has no two texts, want one of"),
    "no text": ("a.jsonl", '{"a": "x", "b": null, "label": 1}\n', r"a\.jsonl:1: b is None, want text"),
    "no label": ("a.jsonl", '{"a": "x", "b": "y"}\n', r"a\.jsonl:1: has no label, want one of label, score"),
    "wrong label": ("a.csv", "a,b,label\nx,y,1\nx,y,yes\n", r"a\.csv:3: label is 'yes', want 0, 1 or a score"),
    "infinite": ("a.csv", "a,b,label\nx,y,inf\n", r"a\.csv:2: label is 'inf'"),
    "huge": ("a.jsonl", '{"a": "x", "b": "y", "label": 1' + "0" * 400 + "}\n", r"a\.jsonl:1: label is 1"),
    "too few columns": ("a.tsv", "a\tb\tlabel\nx\ty\n", r"a\.tsv:2: 2 columns, the header has 3"),
    "twice": ("a.csv", "a,a,label\nx,y,1\n", r"a\.csv:1: a column occurs twice"),
    "open quote": ("a.csv", 'a,b,label\n"x,y,1\n', r"a\.csv:2: not CSV"),
    "header alone": ("a.csv", "a,b,label\n", r"a\.csv: the file is empty"),
    "empty": ("a.jsonl", "", r"a\.jsonl: the file is empty"),
    "not JSON": ("a.jsonl", "松果\n", r"a\.jsonl:1: not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_rows_are_named_by_file_and_line(name: str, tmp_path: Path) -> None:
    file, content, message = BAD[name]
    with pytest.raises(DataError, match=message):
        read_pairs(write(tmp_path / file, content))


def test_labels_are_not_looked_at_unasked(tmp_path: Path) -> None:
    [row] = iter_pairs(write(tmp_path / "a.jsonl", '{"a": "x", "b": "y", "label": "none"}'), labelled=False)
    assert row.label is None


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
def test_what_is_written_reads_back_with_two_more_columns(form: str, tmp_path: Path) -> None:
    source = {
        "jsonl": '{"id": "007", "a": "松果", "b": "云杉"}\n{"id": "NA", "a": "", "b": "\\u2028"}\n',
        "csv": 'id,a,b\n007,松果,"云,杉"\nNA,,"x\r\ny"\n',
        "tsv": 'id\ta\tb\n007\t松果\t"云\nNA\t\ty\n',
    }[form]
    path = write(tmp_path / f"in.{form}", source)
    rows = list(iter_pairs(path, labelled=False))
    writer = PairWriter(table_separator(path))
    out = write(tmp_path / f"out.{form}", "".join(writer.lines(row, 0.25, 1) for row in rows))
    for before, after in zip(rows, iter_pairs(out, labelled=False), strict=True):
        added = {key: float(value) for key, value in after.source.items() if key not in before.source}
        assert added == {"match_score": 0.25, "predicted": 1.0}
        assert {key: after.source[key] for key in before.source} == before.source


def test_arrays_and_other_encodings_are_read_as_everywhere(tmp_path: Path) -> None:
    array, table = tmp_path / "a.json", tmp_path / "a.csv"
    array.write_text('[{"text_a": "甲", "text_b": "乙",\n "label": 1}]', encoding="utf-8")
    table.write_bytes("text_a,text_b,label\n松果手机很好,松果手机不错,1\n".encode("gb18030"))
    assert [(row.left, row.right, row.label) for row in read_pairs(array)] == [("甲", "乙", 1.0)]
    assert [row.left for row in read_pairs(table)] == ["松果手机很好"]
