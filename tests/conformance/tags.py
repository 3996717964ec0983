"""Kinds tag_roundtrip, decode and window: entities to tags and back, over long texts too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.entities.taggers.data import LabelReport
from pipeline.text import match_key

from .framework import Adapter, Given, Tools, equals
from .tag_runs import Row, decode, tag_roundtrip, window


@dataclass(frozen=True)
class Decoded:
    """What one scheme's tags spell."""

    text: str
    rows: Sequence[Row]
    report: LabelReport


def _roundtrip(given: Given, tools: Tools) -> list[Decoded]:
    """Tag and decode under every scheme asked for, both where none is named."""
    schemes = given.get("schemes", ["BIO", "BIESO"])
    inputs = {key: given[key] for key in ("text", "entities", "vocab") if key in given}
    return [Decoded(given["text"], *tag_roundtrip(inputs, scheme)) for scheme in schemes]


def _spell_the_entities(results: Sequence[Decoded], wanted: Sequence[Mapping[str, Any]]) -> None:
    for result in results:
        by_name = {row["entity"]: row for row in result.rows}
        assert sorted(by_name) == sorted(row["entity"] for row in wanted)
        for row in wanted:
            found = by_name[row["entity"]]
            assert found["emotion"] == row["emotion"]
            assert [span for span in found["spans"] if span in row["spans"]] == row["spans"]
            # Another spelling of the name is a mention more, never another name.
            others = [span for span in found["spans"] if span not in row["spans"]]
            assert all(match_key(result.text[slice(*span)]) == match_key(row["entity"]) for span in others)


def _spell_exactly_one(results: Sequence[Decoded], names: Sequence[str]) -> None:
    for result in results:
        found = [row["entity"] for row in result.rows]
        assert len(found) == 1
        assert found[0] in names


def _report_unlabelled(results: Sequence[Decoded], count: int) -> None:
    for result in results:
        assert result.report.n_overlapping + result.report.n_misfit == count


def _hold_none_of(results: Sequence[Decoded], pieces: Sequence[str]) -> None:
    for result in results:
        assert [row["entity"] for row in result.rows if any(piece in row["entity"] for piece in pieces)] == []


def _decode(given: Given, tools: Tools) -> dict[str, list[list[int]]]:
    return decode({"scheme": given["scheme"], "tags": given["tags"]})


def _never_raises(found: Mapping[str, Any], wanted: bool) -> None:
    assert wanted, "a decoder that may raise is not asked for"
    assert set(found) == {"strict", "lenient"}  # it has returned


def _window(given: Given, tools: Tools) -> list[Row]:
    inputs = {key: given[key] for key in ("content_build", "entity", "vocab") if key in given}
    return window({**inputs, "title": given.get("title", "")})


def _lie_in_field(rows: Sequence[Row], field: str) -> None:
    assert {row["field"] for row in rows} == {field}


TAG_ROUNDTRIP = Adapter(
    _roundtrip,
    {
        "decoded": _spell_the_entities,
        "exactly_one_of": _spell_exactly_one,
        "unlabelled_reported": _report_unlabelled,
        "must_not_contain": _hold_none_of,
    },
)
DECODE = Adapter(
    _decode,
    {
        "strict": equals(lambda found: found["strict"]),
        "lenient": equals(lambda found: found["lenient"]),
        "never_raises": _never_raises,
    },
)
WINDOW = Adapter(
    _window,
    {"mentions": equals(lambda rows: [[row["start"], row["end"]] for row in rows]), "field": _lie_in_field},
)
