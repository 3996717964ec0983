"""Invented cases of unlikely files, articles and answers, with the answers of which the design leaves no doubt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.data.read import Finding, ReadReport, read_training
from pipeline.schema import Emotion, Entity

from .adapters import ADAPTERS
from .framework import Tools, run_case

FAR = 200_000
"""Characters of a very long article."""
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
"""One picture of five code points."""
FACE = "\U0001f600"


def row(news_id: str, *names: str, emotion: str = "POS", **fields: Any) -> dict[str, Any]:
    labels = [{"entity": name, "emotion": emotion} for name in names]
    return {"newsId": news_id, "title": "书讯", "content": "银杏书店开业。", "coreEntityEmotions": labels, **fields}


def text_of(*rows: dict[str, Any], end: str = "\n") -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}{end}" for row in rows)


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

ALL = [*READING, *ANSWERS, *COMMANDS]


@pytest.mark.parametrize(("kind", "given", "expected"), [pytest.param(*case[1:], id=case[0]) for case in ALL])
def test_further_case(kind: str, given: dict[str, Any], expected: dict[str, Any], tools: Tools) -> None:
    run_case({"id": "further", "kind": kind, "input": given, "expected": expected}, tools, ADAPTERS)


def test_no_case_is_there_twice() -> None:
    names = [name for name, *_ in ALL]
    assert len(set(names)) == len(names) >= 40


# --- what no adapter reads: several files at once


def write(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    (folder / name).write_text(text_of(*rows), encoding="utf-8")
    return folder / name


def test_of_ids_that_clash_between_training_files_the_first_stays(tmp_path: Path) -> None:
    first = write(tmp_path, "first.jsonl", row("a", "甲社"), row("b", "乙社"))
    second = write(tmp_path, "second.jsonl", row("b", "丙社", emotion="NEG"), row("c", "丁社"))
    report = ReadReport()
    articles = read_training([first, second], report=report)
    assert {article.news_id: article.entities for article in articles} == {
        "a": (Entity("甲社", Emotion.POS),),
        "b": (Entity("乙社", Emotion.POS),),
        "c": (Entity("丁社", Emotion.POS),),
    }
    assert (report.n_articles, report.counts[Finding.REPEATED_ID]) == (3, 1)
    other_way = read_training([second, first])
    assert [article.entities for article in other_way if article.news_id == "b"] == [(Entity("丙社", Emotion.NEG),)]


def test_ids_that_differ_by_a_leading_zero_do_not_clash(tmp_path: Path) -> None:
    first, second = (write(tmp_path, f"{n}.jsonl", row(n, "甲社")) for n in ("7", "007"))
    assert [article.news_id for article in read_training([first, second])] == ["7", "007"]


def test_one_file_given_twice_counts_once(tmp_path: Path) -> None:
    file = write(tmp_path, "train.jsonl", row("a", "甲社"), row("b", "乙社"))
    report = ReadReport()
    assert len(read_training([file, file], report=report)) == 2
    assert report.counts[Finding.REPEATED_ID] == 2
