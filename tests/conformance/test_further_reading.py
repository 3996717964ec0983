"""Files that nobody here made: what is read of them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rows import row, text_of

from .adapters import ADAPTERS
from .framework import Tools, run_case

FAR = 200_000
"""Characters of a very long article."""


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
"""One picture of five code points."""


FACE = "\U0001f600"

READING: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "labels in a file without labels",
        "parse",
        {"rows": [row("a", "银杏书店"), {"newsId": "b", "title": "甲"}], "mode": "test"},
        {"records": 2, "labelled": [False, False], "errors": 0, "exit_code": 0},
    ),
    (
        "broken labels in a file without labels",
        "parse",
        {"rows": [row("a", "银杏书店", emotion="HAPPY"), {**row("b"), "coreEntityEmotions": 3}], "mode": "test"},
        {"records": 2, "labelled": [False, False], "raises": False},
    ),
    (
        "entities with outer blanks, and the same one twice",
        "parse",
        {"rows": [row("a", "银杏书店 ", "\u3000云杉 汽车\t", " 银杏书店")], "mode": "train"},
        {"entities": {"a": ["银杏书店", "云杉 汽车"]}, "repeated_entity": 1, "empty_entity": 0},
    ),
    (
        "an entity of blanks",
        "parse",
        {"rows": [row("a", " \u3000", "银杏书店")], "mode": "train"},
        {"entities": {"a": ["银杏书店"]}, "empty_entity": 1, "errors": 0},
    ),
    (
        "no entity is a label, too",
        "parse",
        {"rows": [row("a")], "mode": "train"},
        {"labelled": [True], "entities": {"a": []}, "raises": False},
    ),
    (
        "every entity negative",
        "parse",
        {"rows": [row("a", "甲社", "乙社", emotion="NEG")], "mode": "train"},
        {"entities": {"a": [["甲社", "NEG"], ["乙社", "NEG"]]}, "exit_code": 0},
    ),
    (
        "truncated is said by true alone",
        "parse",
        {"rows": [row("a", truncated=True), row("b", truncated=False), row("c")]},
        {"truncated": [True, False, False], "records": 3},
    ),
    (
        "BOM, CRLF and a blank last line",
        "parse",
        {"file_text": "\ufeff" + text_of(row("a"), row("b"), end="\r\n") + "\r\n"},
        {"newsIds": ["a", "b"], "errors": 0, "contents": ["银杏书店开业。"] * 2},
    ),
    (
        "BOM and CRLF in gzip",
        "parse",
        {"file_text": "\ufeff" + text_of(row("a"), end="\r\n"), "file_name": "rows.txt.gz"},
        {"newsIds": ["a"], "errors": 0},
    ),
    (
        "CRLF and LF by turns, no end to the last line",
        "parse",
        {"file_text": text_of(row("a"), end="\r\n") + text_of(row("b")) + text_of(row("c"), end="")},
        {"newsIds": ["a", "b", "c"], "errors": 0},
    ),
    (
        "a record ends at LF only",
        "parse",
        {"file_text": text_of(row("a"), end="\r") + text_of(row("b")) + text_of(row("c"))},
        {"newsIds": ["c"], "error_line": 1, "exit_code": 3},
    ),
    (
        "line numbers after CRLF and blank lines",
        "parse",
        {"file_text": "\r\n" + text_of(row("a"), end="\r\n") + "\r\n{\r\n"},
        {"newsIds": ["a"], "error_lines": [4], "message_mentions": ["rows.jsonl:4: "], "exit_code": 3},
    ),
    (
        "both texts null",
        "parse",
        {"rows": [{"newsId": "a", "title": None, "content": None}]},
        {"titles": [""], "contents": [""], "errors": 0},
    ),
    (
        "title only",
        "parse",
        {"rows": [{"newsId": "a", "title": "银杏书店开业"}]},
        {"titles": ["银杏书店开业"], "contents": [""], "errors": 0},
    ),
    (
        "ids that look like numbers",
        "parse",
        {"lines": ['{"newsId":"007","title":"甲"}', '{"newsId":7,"title":"乙"}', '{"newsId":"NA","title":"丙"}']},
        {"newsIds": ["007", "7", "NA"], "errors": 0},
    ),
    (
        "an article of 200,000 characters",
        "parse",
        {"rows": [row("a", content="铺" * FAR)]},
        {"content_lengths": [FAR], "errors": 0},
    ),
    (
        "a name at the end of 200,000 characters",
        "offsets",
        {"article": {"newsId": "a", "title": "", "content": "铺" * FAR + "银杏书店"}, "entities": ["银杏书店"]},
        {"mentions": [{"field": "content", "start": FAR, "end": FAR + 4, "surface": "银杏书店"}]},
    ),
    (
        "emoji before a name are counted by code points",
        "detail_output",
        {
            "article": {"newsId": "a", "title": f"{FACE}青禾超市", "content": f"{FAMILY}青禾超市{FACE}青禾超市"},
            "entities": ["青禾超市"],
        },
        {
            "mentions": [
                {"field": "title", "start": 1, "end": 5, "surface": "青禾超市"},
                {"field": "content", "start": 5, "end": 9, "surface": "青禾超市"},
                {"field": "content", "start": 10, "end": 14, "surface": "青禾超市"},
            ],
            "surface_must_be_slice": True,
        },
    ),
    (
        "one name inside another: both are found where they stand",
        "offsets",
        {"article": {"newsId": "a", "title": "", "content": "云杉汽车与云杉。"}, "entities": ["云杉", "云杉汽车"]},
        {
            "mentions": [
                {"field": "content", "entity": "云杉", "start": 0, "end": 2},
                {"field": "content", "entity": "云杉", "start": 5, "end": 7},
                {"field": "content", "entity": "云杉汽车", "start": 0, "end": 4},
            ]
        },
    ),
    (
        "a name with a number inside a longer number",
        "lexicon",
        {"lines": ["云杉s7"], "text": "云杉s70与云杉S7"},
        {"matches": ["云杉s7"], "spans": {"云杉s7": [[6, 10]]}},
    ),
    (
        "a title with and without its marks",
        "candidates",
        {"article": {"newsId": "a", "title": "《银杏巷》开播", "content": "银杏巷收视第一。"}},
        {
            "must_include": ["《银杏巷》", "银杏巷"],
            "final_at_most_one_of": ["《银杏巷》", "银杏巷"],
            "surface_must_be_slice": True,
        },
    ),
    (
        "candidates of a bare title",
        "candidates",
        {"article": {"newsId": "a", "title": "《银杏巷》", "content": ""}},
        {"must_include": ["银杏巷"], "surface_must_be_slice": True, "no_repeats": True},
    ),
    (
        "an article without text has no candidate",
        "candidates",
        {"article": {"newsId": "a", "title": "", "content": ""}},
        {"n_candidates": 0},
    ),
]


@pytest.mark.parametrize(("kind", "given", "expected"), [pytest.param(*case[1:], id=case[0]) for case in READING])
def test_case_of_reading(kind: str, given: dict[str, Any], expected: dict[str, Any], tools: Tools) -> None:
    run_case({"id": "further", "kind": kind, "input": given, "expected": expected}, tools, ADAPTERS)


def test_no_case_of_reading_is_there_twice() -> None:
    names = [name for name, *_ in READING]
    assert len(set(names)) == len(names) >= 23
