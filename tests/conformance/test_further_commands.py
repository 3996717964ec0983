"""Commands on unusual files: exit codes, and one line."""

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

COMMANDS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "articles of every odd form in one prediction",
        "cli_predict",
        {
            "articles": [
                {"newsId": "title", "title": "银杏书店", "content": None},
                {"newsId": "nothing", "title": "", "content": ""},
                {"newsId": "blank", "title": "\u3000\n", "content": "\u200b"},
                {"newsId": "one", "title": "", "content": "茶社"},
                {"newsId": "emoji", "title": FACE, "content": f"{FAMILY}青禾超市{FACE}好评，青禾超市促销{FACE}"},
                {"newsId": "long", "title": "银杏书店", "content": "银杏书店今天开业，顾客很多。" * (FAR // 14)},
                row("labelled", "这个名字不在文中", emotion="NEG"),
            ]
        },
        {
            "exit_code": 0,
            "ids": ["title", "nothing", "blank", "one", "emoji", "long", "labelled"],
            "valid": True,
            "empty_ids": ["nothing", "blank"],
            "surface_must_be_slice": True,
            "must_not_contain": ["这个名字不在文中", "\r", "\u200b"],
            "no_traceback": True,
        },
    ),
    (
        "the input of a check may have BOM, CRLF and labels",
        "cli",
        {
            "argv": ["check", "--submission", "answer.txt", "--input", "in.txt"],
            "files": {"in.txt": "\ufeff" + text_of(row("a", "甲"), end="\r\n"), "answer.txt": "a\t甲\tNEG\n"},
        },
        {"exit_code": 0, "stdout_mentions": ["answer.txt: valid"]},
    ),
    (
        "gold without labels",
        "cli",
        {
            "argv": ["evaluate", "--gold", "gold.txt", "--submission", "answer.txt"],
            "files": {"gold.txt": [{"newsId": "a", "title": "甲"}], "answer.txt": "a\t\t\n"},
        },
        {"exit_code": 3, "message_mentions": ["gold.txt:1: "], "one_error_line": True, "no_traceback": True},
    ),
]


@pytest.mark.parametrize(("kind", "given", "expected"), [pytest.param(*case[1:], id=case[0]) for case in COMMANDS])
def test_case_of_commands(kind: str, given: dict[str, Any], expected: dict[str, Any], tools: Tools) -> None:
    run_case({"id": "further", "kind": kind, "input": given, "expected": expected}, tools, ADAPTERS)


def test_no_case_of_commands_is_there_twice() -> None:
    names = [name for name, *_ in COMMANDS]
    assert len(set(names)) == len(names) >= 3
