"""Invented cases of forms that the public file does not hold: they keep the adapters general."""

from __future__ import annotations

from typing import Any

import pytest

from .adapters import ADAPTERS
from .choosing import parse_rule
from .framework import CaseError, Tools, run_case

LABELLED = {"newsId": "a", "title": "甲社", "content": "", "coreEntityEmotions": [{"entity": "甲社", "emotion": "POS"}]}
ARTICLE = {"newsId": "a", "title": "云杉汽车", "content": "云杉汽车降价，云杉汽车道歉。"}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "labels",
        "parse",
        {"rows": [LABELLED], "mode": "train"},
        {"records": 1, "entities": {"a": [["甲社", "POS"]]}, "exit_code": 0, "raises": False},
    ),
    (
        "unlabelled training row",
        "parse",
        {"lines": ['{"newsId":"a","title":"甲"}'], "mode": "train"},
        {"records": 0, "errors": 1, "error_line": 1, "message_mentions": ["coreEntityEmotions"], "exit_code": 3},
    ),
    (
        "wrong emotion, skipped",
        "parse",
        {
            "rows": [LABELLED, {**LABELLED, "coreEntityEmotions": [{"entity": "甲社", "emotion": "HAPPY"}]}],
            "skip_bad_rows": True,
        },
        {"records": 1, "error_lines": [2], "raises": False, "bad_row": 1},
    ),
    ("gzip", "parse", {"rows": [LABELLED], "file_name": "rows.jsonl.gz"}, {"newsIds": ["a"], "labelled": [True]}),
    ("empty file", "parse", {"file_text": ""}, {"records": 0, "raises": True, "message_mentions": "empty"}),
    (
        "not in the text",
        "align",
        {"articles": [{**LABELLED, "title": "乙社"}, LABELLED]},
        {"aligned": ["甲社"], "unaligned": ["甲社"], "n_unaligned": 1, "recall_ceiling": 0.5},
    ),
    (
        "sentences",
        "split",
        {"text": "他说“好！走吧。”然后走了。《真的吗？》上映！"},
        {
            "sentences": ["他说“好！走吧。”然后走了。", "《真的吗？》上映！"],
            "n_sentences": 2,
            "must_not_split": ["《真的吗？》"],
            "lossless": True,
        },
    ),
    (
        "folds",
        "split",
        {"ids": list("abcdefgh"), "n_folds": 4},
        {"fold_sizes": [2, 2, 2, 2], "every_fold_filled": True, "order_independent": True, "max_size_difference": 0},
    ),
    (
        "names with blanks, a BOM, CRLF and repeats",
        "lexicon",
        {"file_text": "\ufeff云杉汽车\r\n\r\nNova  Pad\r\n云杉汽车\n", "text": "nova pad与云杉汽车"},
        {
            "entries": ["云杉汽车", "nova pad"],
            "size": 2,
            "matches": ["云杉汽车", "nova pad"],
            "spans": {"云杉汽车": [[9, 13]]},
            "errors": 0,
        },
    ),
    (
        "overlapping names",
        "lexicon",
        {
            "lines": ["南城大学", "大学附属医院", "南城大学附属医院"],
            "article": {**ARTICLE, "content": "南城大学附属医院"},
        },
        {"matches": 3, "longest": ["南城大学附属医院"], "counts": {"南城大学": 1}, "surface_must_be_slice": True},
    ),
    (
        "no name",
        "lexicon",
        {"lines": ["", " "]},
        {"entries": 0, "raises": True, "exit_code": 3, "message_mentions": ["holds no name"]},
    ),
    (
        "candidates of a gold name",
        "candidates",
        {"article": ARTICLE, "gold_names": ["云杉汽车"], "config": {"max_chars": 10}},
        {
            "must_include": ["云杉汽车"],
            "must_not_include": ["汽车降价，云杉"],
            "counts": {"云杉汽车": 3, "银杏": 0},
            "sources": {"云杉汽车": ["gold"]},
            "surfaces": {"云杉汽车": "云杉汽车"},
            "no_repeats": True,
            "mentions": [
                {"field": "title", "start": 0, "end": 4, "entity": "云杉汽车"},
                {"field": "content", "start": 0, "end": 4, "entity": "云杉汽车"},
                {"field": "content", "start": 7, "end": 11, "entity": "云杉汽车"},
            ],
        },
    ),
    (
        "exact spelling",
        "offsets",
        {"article": {**ARTICLE, "title": "NOVA nova"}, "entities": ["nova"], "match": "exact"},
        {"mentions": [{"field": "title", "start": 5, "end": 9}], "n_mentions": 1},
    ),
    (
        "rows in their article's order",
        "ranker_groups",
        {"rows": [{"newsId": "b", "cand": "甲"}, {"newsId": "a", "cand": "乙"}, {"newsId": "b", "cand": "丙"}]},
        {"groups": [["b", 2], ["a", 1]], "row_order": [0, 2, 1], "stable": True, "no_zero_group": True},
    ),
    (
        "columns in another order",
        "ranker_features",
        {
            "train_features": [[1, 2], [2, 1], [1, 3], [3, 1]],
            "train_columns": ["tf", "idf"],
            "predict_columns": ["idf", "tf"],
            "predict_features": [[1, 2]],
        },
        {"raises": True, "exit_code": 4, "message_mentions": ["tf"]},
    ),
    ("misspelt parameter", "ranker_features", {"params": {"num_leafs": 3}}, {"raises": True, "exit_code": 2}),
    (
        "features by name",
        "ranker_features",
        {"article": ARTICLE, "candidates": ["云杉汽车"]},
        {"title_tf": {"云杉汽车": 1}, "shape.length": {"云杉汽车": 4}, "all_nonzero": ["tf"]},
    ),
    (
        "one, two or three",
        "select",
        {
            "rule": {"rest": "p >= 0.3"},
            "articles": {"x": [["甲", 0.1]], "x2": [["甲", 0.9], ["乙", 0.31], ["丙", 0.29]], "y": []},
        },
        {"x": ["甲"], "x2_order": ["甲", "乙"], "x2_excludes": "丙", "y_set_size": 0, "x2_first": "甲", "max_size": 3},
    ),
    (
        "rates by fold number",
        "oof",
        {
            "rows": [{"newsId": "a", "cand": "甲", "label": 1}, {"newsId": "b", "cand": "甲", "label": 0}],
            "folds": {"a": 0, "b": 1},
            "smoothing": 1,
        },
        {"rate": {"a/甲": 0.0, "b/甲": 1.0}, "prior": {"a": 0.0}, "no_leak": True},
    ),
    (
        "several columns",
        "table_roundtrip",
        {"newsId": ["007", "NA"], "name": ['a,"b"', "c\nd"]},
        {"after_save_and_load": {"newsId": ["007", "NA"], "name": ['a,"b"', "c\nd"]}, "newsId": ["007", "NA"]},
    ),
    (
        "four names and a repeat",
        "submission",
        {"predictions": {"a": [["甲", "POS"], ["甲", "NEG"], ["乙", "NEG"], ["丙", "NORM"], ["丁", "POS"]]}},
        {"bytes": "a\t甲,乙,丙\tPOS,NEG,NORM\n", "max_entities": 3, "warns": True, "lines": 1},
    ),
    (
        "other words for the same fault",
        "validate_submission",
        {"lines": ["b\t甲,乙,丙,丁\tPOS,POS,POS,POS", "a\t甲"], "test_ids": ["a", "b"]},
        {
            "ok": False,
            "problems": [
                {"line": 1, "about": "too many entities"},
                {"line": 1, "about": "order"},
                {"line": 2, "about": "field count"},
            ],
        },
    ),
    (
        "missing and surplus articles",
        "metric",
        {"gold": {"a": [["甲", "POS"]], "b": []}, "pred": {"b": [], "c": [["乙", "NEG"]]}},
        {"entity_f1": 0.5, "n_missing": 1, "n_unexpected": 1, "per_article": {"b": {"score": 1.0}}, "micro_f1": 0.0},
    ),
    ("no gold", "metric", {"gold": {}, "pred": {}}, {"raises": True}),
    (
        "batch-mates",
        "head_input",
        {
            "examples": [
                {"text": "云杉汽车降价", "target": "云杉汽车"},
                {"text": "都说好" * 30 + "银杏", "target": "银杏"},
            ],
            "heads": ["ian", "AF_LSTM"],
        },
        {"left": "", "right": "降价", "row_independent": True, "shape": [2, 3], "target_kept": True},
    ),
    (
        "a long context",
        "head_input",
        {"text": "铺" * 40 + "银杏书店" + "垫" * 40, "target": "银杏书店", "max_tokens": 10},
        {"seen": "铺铺铺银杏书店垫垫垫", "target_survives": True, "finite_output": True},
    ),
    (
        "joined tags",
        "joint_decode",
        {
            "scheme": "BIESO",
            "text": "云杉汽车好,银杏差,云杉汽车。",
            "tags": [
                *("B-POS", "I-POS", "I-POS", "E-POS", "O", "O", "B-NEG", "E-NEG", "O", "O"),
                *("B-NEG", "I-NEG", "I-NEG", "E-NEG", "O"),
            ],
        },
        {
            "spans": [[0, 4, "POS"], [6, 8, "NEG"], [10, 14, "NEG"]],
            "entities": [["云杉汽车", "POS"], ["银杏", "NEG"]],  # one vote each for 云杉汽车: POS comes first
        },
    ),
    (
        "an emotion that changes inside a name",
        "joint_decode",
        {"scheme": "BIO", "tokens": ["银", "杏", "好"], "tags": ["B-POS", "I-NEG", "O"]},
        {
            "strict": [[0, 1, "POS"]],
            "lenient": [[0, 1, "POS"], [1, 2, "NEG"]],
            "entities": {"银": "POS"},
            "never_raises": True,
        },
    ),
    (
        "two heads",
        "joint_decode",
        {
            "text": "银杏nova",
            "tokens": ["银", "杏", "nova"],
            "tags": ["B", "E", "S"],
            "emotions": [[0.6, 0.4, 0.0], [0.1, 0.9, 0.0], "NEG"],
        },
        {"decoded": [{"entity": "银杏", "emotion": "NORM"}, {"entity": "nova", "emotion": "NEG"}], "n_entities": 2},
    ),
    (
        "the summed probability wins",
        "joint_vote",
        {
            "mentions": [
                {"entity": "银杏", "emotion": "POS", "prob": 0.9},
                {"entity": "银杏", "emotion": "NEG", "prob": 0.5},
                {"entity": "银杏", "emotion": "NEG", "prob": 0.6},
                {"entity": "云杉", "probs": {"POS": 0.1, "NORM": 0.2}},
            ]
        },
        {
            "银杏": "NEG",
            "emotions": {"银杏": "NEG", "云杉": "NORM"},
            "sums": {"银杏": {"POS": 0.9, "NEG": 1.1}, "云杉": [0.1, 0.2, 0.0]},
        },
    ),
    (
        "ties go to POS, then NORM",
        "joint_vote",
        {"mentions": {"银杏": [["NEG", 0.3], ["POS", 0.1], ["POS", 0.2]], "云杉": [[0.0, 0.5, 0.5]]}},
        {"entities": [["银杏", "POS"], ["云杉", "NORM"]]},
    ),
    ("one name", "joint_vote", {"mentions": [[0.2, 0.3, 0.1], [0.2, 0.0, 0.4]]}, {"emotion": "NEG"}),
    (
        "every way to lose an entity",
        "error_report",
        {
            "gold": {
                "a": [["甲社", "POS"], ["乙社", "NEG"], ["丙社", "POS"], ["丁社", "POS"]],
                "b": [["戊社", "NORM"]],
            },
            "texts": {"a": "甲社和乙社、丙社", "b": "戊社"},
            "candidates": {"a": ["甲社", "乙社", "丙社"], "b": ["戊社"]},
            "kept": {"a": ["甲社", "乙社", "丙社"]},
            "ranked": {"a": ["乙社", "甲社"]},
            "final": {"a": [["乙社", "NEG"]], "b": [["己社", "POS"]]},
        },
        {
            "gold_total": 5,
            "lost_not_in_text": 1,
            "lost_not_candidate": 0,
            "lost_pruned": 1,
            "ranked_out": 1,
            "lost_by_number": 1,
            "hit_right_emotion": 1,
            "n_spurious": 1,
            "reasons": {"a": {"甲社": "cut_by_number", "乙社": None}, "b": {"戊社": "pruned"}},
            "sum_check": "not_in_text + not_candidate + pruned + ranking + number + wrong + right == gold_total",
        },
    ),
    (
        "an emotion that nobody has",
        "emotion_report",
        {"gold": ["POS", "NEG", "NEG"], "pred": ["POS", "NEG", "POS"]},
        {
            "confusion": [[1, 0, 0], [0, 0, 0], [1, 0, 1]],
            "per_class_recall": {"POS": 1, "NORM": None, "NEG": 0.5},
            "macro_f1": 2 / 3,
            "per_class_precision": {"POS": 0.5},
            "per_class": {"NEG": {"precision": 1, "recall": 0.5, "f1": 2 / 3}},
            "majority": "NEG",
            "beats_majority": False,
        },
    ),
    ("help", "cli", {"argv": ["--help"]}, {"exit_code": 0, "stdout_mentions": ["predict", "train"]}),
    (
        "missing input",
        "cli",
        {"argv": ["audit", "nowhere.jsonl"]},
        {"exit_code": 3, "message_mentions": ["nowhere.jsonl"], "one_error_line": True, "no_traceback": True},
    ),
    (
        "bad rows in a file of the case",
        "cli",
        {"argv": ["audit", "a.jsonl"], "files": {"a.jsonl": [ARTICLE, {"title": "甲"}]}},
        {"exit_code": 3, "stdout_mentions": ["a.jsonl"], "files_absent": ["b.jsonl"]},
    ),
]


@pytest.mark.parametrize(("kind", "given", "expected"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_own_case(kind: str, given: dict[str, Any], expected: dict[str, Any], tools: Tools) -> None:
    run_case({"id": "own", "kind": kind, "input": given, "expected": expected}, tools, ADAPTERS)


@pytest.mark.parametrize(
    ("rest", "floor", "share"),
    [
        ("p >= max(0.28, 0.5*top)", 0.28, 0.5),
        ("p>=max(0.5 * top, 0.28)", 0.28, 0.5),
        ("p >= top * 0.7", 0.0, 0.7),
        ("p >= .3", 0.3, 0.0),
        ("p >= top", 0.0, 1.0),
    ],
)
def test_rules_are_read(rest: str, floor: float, share: float) -> None:
    rule = parse_rule({"first": "always", "rest": rest, "max": 2})
    assert (rule.floor, rule.share_of_top, rule.max_entities) == (floor, share, 2)


@pytest.mark.parametrize("rule", [{"rest": "p > 0.3 + top"}, {"rest": "q >= 1"}, {"first": "never"}, {"least": 1}])
def test_a_rule_nobody_understands_fails(rule: dict[str, Any]) -> None:
    with pytest.raises(CaseError, match="is not understood"):
        parse_rule(rule)
