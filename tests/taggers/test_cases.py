"""The conformance cases about tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.text import match_key

from . import case_runs

PATH = Path(__file__).parents[1] / "data" / "cases.jsonl"
CASES = [json.loads(line) for line in PATH.read_text(encoding="utf-8").split("\n") if line] if PATH.is_file() else []


def of_kind(kind: str) -> list[Any]:
    return [pytest.param(case["input"], case["expected"], id=case["id"]) for case in CASES if case["kind"] == kind]


@pytest.mark.parametrize(("given", "expected"), of_kind("offsets"))
def test_offsets(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert case_runs.offsets(given) == expected["mentions"]


@pytest.mark.parametrize("scheme", ["BIO", "BIESO"])
@pytest.mark.parametrize(("given", "expected"), of_kind("tag_roundtrip"))
def test_tag_roundtrip(given: dict[str, Any], expected: dict[str, Any], scheme: Any) -> None:
    if scheme not in given.get("schemes", [scheme]):
        pytest.skip("not asked for")
    decoded, report = case_runs.tag_roundtrip(given, scheme)
    by_name = {row["entity"]: row for row in decoded}
    for wanted in expected.get("decoded", []):
        found = by_name.pop(wanted["entity"])
        assert found["emotion"] == wanted["emotion"]
        others = [span for span in found["spans"] if span not in wanted["spans"]]
        assert [span for span in found["spans"] if span in wanted["spans"]] == wanted["spans"]
        # Another spelling of the name is a mention more, never another name.
        assert all(match_key(given["text"][slice(*span)]) == match_key(wanted["entity"]) for span in others)
    if "exactly_one_of" in expected:
        (name,) = by_name
        assert name in expected["exactly_one_of"]
        by_name.clear()
    assert not by_name
    assert report.n_overlapping + report.n_misfit == expected.get("unlabelled_reported", 0)
    for piece in expected.get("must_not_contain", []):
        assert all(piece not in row["entity"] for row in decoded)


@pytest.mark.parametrize(("given", "expected"), of_kind("decode"))
def test_decode(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = case_runs.decode(given)
    for policy in expected.keys() & found.keys():
        assert found[policy] == expected[policy]


@pytest.mark.parametrize(("given", "expected"), of_kind("window"))
def test_window(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = case_runs.window(given)
    assert {row["field"] for row in found} == {expected["field"]}
    assert [[row["start"], row["end"]] for row in found] == expected["mentions"]
