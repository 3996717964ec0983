"""Unusual names and articles: what is found, chosen and written."""

from __future__ import annotations

from typing import Any

import pytest

from .adapters import ADAPTERS
from .framework import Tools, run_case

FAR = 200_000
"""Characters of a very long article."""


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
"""One picture of five code points."""


FACE = "\U0001f600"

ANSWERS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "one candidate is chosen however unlikely",
        "select",
        {"rule": {"rest": "p >= max(0.5, 0.9*top)"}, "articles": {"x": [["甲", 0.0001]]}},
        {"x": ["甲"], "never_empty": True},
    ),
    (
        "one that fails ends the choice",
        "select",
        {"rule": {"rest": "p >= 0.5*top", "max": 3}, "articles": {"x": [["甲", 0.9], ["乙", 0.45], ["丙", 0.449]]}},
        {"x_order": ["甲", "乙"], "stable_under_row_shuffle": True},
    ),
    (
        "names that become one when they are cleaned",
        "submission",
        {"predictions": {"a": [["银杏,书店", "NEG"], ["银杏书店", "POS"], ["云杉\t", "NORM"], ["云杉", "NEG"]]}},
        {"bytes": "a\t银杏书店,云杉\tNEG,NORM\n", "warns": True},
    ),
    (
        "nothing is left of the names",
        "submission",
        {"predictions": {"a": [[",\t", "POS"], ["\u2028\n", "NEG"]], "b": [["甲", "POS"]]}},
        {"bytes": "a\t\t\nb\t甲\tPOS\n", "warns": True},
    ),
    (
        "a trailing blank goes, an inner one stays",
        "submission",
        {"predictions": {"a": [["nova  pad ", "NEG"], ["\u3000云杉 汽车", "NEG"]]}},
        {"bytes": "a\tnova  pad,云杉 汽车\tNEG,NEG\n", "warns": False},
    ),
    (
        "title marks, emoji and other commas stay",
        "submission",
        {"predictions": {"a": [["《银杏，巷》", "POS"], [f"青禾{FACE}", "NORM"], ["甲、乙", "NEG"]]}},
        {"bytes": f"a\t《银杏，巷》,青禾{FACE},甲、乙\tPOS,NORM,NEG\n", "warns": False, "no_bom": True},
    ),
    (
        "a repeat does not take the place of the third",
        "submission",
        {"predictions": {"a": [["甲", "POS"], ["甲 ", "NEG"], ["乙", "NEG"], ["丙", "NORM"]]}},
        {"bytes": "a\t甲,乙,丙\tPOS,NEG,NORM\n"},
    ),
    (
        "an article without an answer has a line",
        "submission",
        {"order": ["b", "a", "c"], "predictions": {"a": [["甲", "POS"]]}},
        {"bytes": "b\t\t\na\t甲\tPOS\nc\t\t\n", "lines": 3, "lf_only": True},
    ),
    (
        "an upload file that is empty lacks every article",
        "validate_submission",
        {"file_text": "", "test_ids": ["a", "b"]},
        {"ok": False, "problems": [{"about": "missing id a"}, {"about": "missing id b"}]},
    ),
    (
        "a file of empty answers is valid",
        "validate_submission",
        {"lines": ["a\t\t", "b\t\t"], "test_ids": ["a", "b"]},
        {"ok": True, "problems": []},
    ),
    (
        "a name with a trailing blank, an answer twice, an emotion too few",
        "validate_submission",
        {"lines": ["a\t银杏 \tPOS", "a\t银杏\tPOS", "b\t甲,乙\tPOS"], "test_ids": ["a", "b"]},
        {
            "ok": False,
            "problems": [
                {"line": 1, "about": "outer blanks"},
                {"line": 2, "about": "duplicate or unexpected id"},
                {"line": 3, "about": "count mismatch"},
            ],
        },
    ),
    (
        "part of a name is not the name, nor is its title with marks",
        "metric",
        {
            "gold": {"a": [["云杉汽车", "POS"]], "b": [["银杏巷", "POS"]]},
            "pred": {"a": [["云杉", "POS"]], "b": [["《银杏巷》", "POS"]]},
        },
        {"entity_f1": 0.0, "emotion_f1": 0.0, "score": 0.0, "hits": 0},
    ),
    (
        "outer blanks do not count, inner ones do",
        "metric",
        {
            "gold": {"a": [["银杏 ", "POS"]], "b": [["nova pad", "POS"]]},
            "pred": {"a": [["银杏", "POS"]], "b": [["novapad", "POS"]]},
        },
        {"entity_f1": 0.5, "per_article": {"a": {"score": 1.0}, "b": {"score": 0.0}}},
    ),
    (
        "an answer where there is nothing to find",
        "metric",
        {"gold": {"a": [], "b": []}, "pred": {"a": [["甲", "POS"]], "b": []}},
        {"entity_f1": 0.5, "score": 0.5, "per_article": {"a": {"score": 0.0}, "b": {"score": 1.0}}},
    ),
    (
        "the mean is over articles, pooled counts are another figure",
        "metric",
        {
            "gold": {"a": [["甲", "NEG"]], "b": [["乙", "NEG"], ["丙", "NEG"], ["丁", "NEG"]]},
            "pred": {"a": [["甲", "NEG"]], "b": []},
        },
        {"entity_f1": 0.5, "emotion_f1": 0.5, "score": 0.5, "micro_entity_f1": 0.4},
    ),
    (
        "all negative: answering POS is never right",
        "metric",
        {"gold": {"a": [["甲", "NEG"], ["乙", "NEG"]]}, "pred": {"a": [["甲", "NEG"], ["乙", "NEG"]]}},
        {"score": 1.0, "emotion_accuracy": 1.0, "all_pos_accuracy": 0.0},
    ),
    (
        "all negative: the report",
        "emotion_report",
        {"gold": ["NEG"] * 3, "pred": ["NEG"] * 3},
        {
            "accuracy": 1.0,
            "confusion": [[0, 0, 0], [0, 0, 0], [0, 0, 3]],
            "per_class_recall": {"POS": None, "NORM": None, "NEG": 1.0},
            "majority": "NEG",
            "beats_majority": False,
        },
    ),
    (
        "a table keeps blanks, quotes and breaks",
        "table_roundtrip",
        {"entity": [" 银杏 ", 'a"b,c', "甲\n乙", "=1+1", ""]},
        {"after_save_and_load": {"entity": [" 银杏 ", 'a"b,c', "甲\n乙", "=1+1", ""]}, "no_missing": True},
    ),
]


@pytest.mark.parametrize(("kind", "given", "expected"), [pytest.param(*case[1:], id=case[0]) for case in ANSWERS])
def test_case_of_answers(kind: str, given: dict[str, Any], expected: dict[str, Any], tools: Tools) -> None:
    run_case({"id": "further", "kind": kind, "input": given, "expected": expected}, tools, ADAPTERS)


def test_no_case_of_answers_is_there_twice() -> None:
    names = [name for name, *_ in ANSWERS]
    assert len(set(names)) == len(names) >= 18
