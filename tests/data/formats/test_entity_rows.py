from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.data.formats.entity_rows import parse_ner_row, read_ner_rows
from pipeline.errors import DataError
from pipeline.text.spans import Span

ROW = {
    "text": "青禾Ｎova　 与云杉汽车",
    "entities": [
        {"entity": "青禾Ｎova", "type": "company", "from": 0, "to": 6},
        {"entity": "云杉汽车", "type": "company", "from": 9, "to": 13},
    ],
}


def test_offsets_move_to_the_normalised_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n\n" + json.dumps(ROW), encoding="utf-8")
    first, second = read_ner_rows(path)
    assert first == second
    assert first.text == "青禾nova 与云杉汽车"
    assert [(first.text[s.start : s.stop], s.label) for s in first.spans] == [
        ("青禾nova", "company"),
        ("云杉汽车", "company"),
    ]
    assert {span.label for span in read_ner_rows(path, with_types=False)[0].spans} == {""}


def test_blanks_at_the_edges_and_invisible_entities_are_dropped() -> None:
    row = {"text": "a 青禾 \u200b", "entities": [{"from": 1, "to": 5}, {"from": 5, "to": 6}]}
    assert parse_ner_row(row).spans == (Span(2, 4),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"entities": []}, "no text"),
        ({"text": "青禾"}, "entities is not a list"),
        ({"text": "青禾", "entities": [{"from": 0, "to": 3}]}, r"lies at \[0, 3\), the text has 2"),
        ({"text": "青禾", "entities": [{"from": 1, "to": 1}]}, r"\[1, 1\)"),
        ({"text": "青禾", "entities": ["青禾"]}, r"\[None, None\)"),
        ({"text": "青禾", "entities": [{"from": 0, "to": 1, "entity": "禾"}]}, "reads '青' at"),
    ],
)
def test_malformed_rows_are_named(row: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(row), encoding="utf-8")
    with pytest.raises(DataError, match=rf"rows\.jsonl:2: .*{reason}"):
        read_ner_rows(path)


@pytest.mark.parametrize(
    ("content", "reason"), [("", "is empty"), ("[1]", ":1: not a JSON object"), ("{", ":1: not J")]
)
def test_unusable_files_are_named(content: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(content)
    with pytest.raises(DataError, match=reason):
        read_ner_rows(tmp_path / "rows.jsonl")
