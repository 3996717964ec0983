"""Errors for users: one line each, whatever the values in them hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.data.formats.tagging import read_rows
from pipeline.errors import DataError

BREAKS = ("\n", "\r\n", "\x0b", "\x85", "\u2028")


@pytest.mark.parametrize("end", BREAKS)
def test_message_and_hint_are_one_line(end: str) -> None:
    error = DataError(f"a.csv:1: no column a{end}b (have:  c)", hint=f"--columns x=a{end} b")
    assert error.message == str(error) == "a.csv:1: no column a b (have:  c)"
    assert error.hint == "--columns x=a b"
    assert DataError("a").hint is None


def test_a_row_whose_keys_and_values_hold_line_breaks_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    for row in (
        {"text": "青禾", "entities": [{"start_offset": "\r\n", "end_offset": 2, "label": "PER"}]},
        {"te\nxt": "青禾", "label": {"PER": {"青禾": [[0, 1]]}}},
    ):
        path.write_text(json.dumps([row]), encoding="utf-8")
        with pytest.raises(DataError, match=r"rows\.json:1: ") as caught:
            read_rows(path)
        assert len(caught.value.message.splitlines()) == 1
