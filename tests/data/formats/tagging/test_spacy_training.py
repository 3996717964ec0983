"""Training files of spaCy 2: sentences of tokens with BILUO tags, in paragraphs with or without their text."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from pipeline.data.formats.tagging import Form, iter_rows, read_rows, recognise
from pipeline.data.lines import tell
from pipeline.errors import DataError
from pipeline.text.spans import Span
from tests.data.formats.tagging.rows import Write

FIRST = [("赵", "B-PER"), ("以宁", "L-PER"), ("在", "O"), ("青禾县", "U-LOC"), ("。", "O")]
SECOND = [("Nova", "B-产品"), ("3", "I-产品"), ("Pro", "L-产品"), ("来了", "-")]


def sentence(tokens: list[tuple[str, str | None]], **more: object) -> dict[str, Any]:
    return {"tokens": [{"id": n, "orth": form, "ner": tag, **more} for n, (form, tag) in enumerate(tokens)]}


def document(*sentences: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"id": 0, "paragraphs": [{"sentences": list(sentences), "cats": [], **more}]}


def test_every_sentence_is_a_row(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    tell.cache_clear()
    caplog.set_level(logging.INFO)
    path = write("a.json", json.dumps([document(sentence(FIRST), sentence([])), document(sentence(SECOND))], indent=1))
    assert recognise(path) == "spacy"
    want = [
        ("赵以宁在青禾县。", (Span(0, 3, "PER"), Span(4, 7, "LOC"))),
        ("Nova 3 Pro来了", (Span(0, 10, "产品"),)),
    ]
    assert [(row.text, row.spans) for row in read_rows(path).rows] == want
    assert caplog.messages[-1] == (
        f"{path}: rows are spaCy's: 2 rows, 3 types (--format settles it); not read: 1 tokens whose tag is not known"
    )
    assert [(row.text, row.spans) for row in iter_rows(path)] == [(text, ()) for text, _ in want]
    assert [row.spans for row in read_rows(path, form=Form(format="spacy")).rows] == [spans for _, spans in want]


def test_the_text_of_a_paragraph_is_kept(write: Write) -> None:
    """Each sentence is the slice from its first token to its last."""
    raw = "  赵 以宁在青禾县。\nNova 3  Pro 来了\n"
    path = write("a.json", json.dumps([document(sentence(FIRST), sentence(SECOND), raw=raw)]))
    assert [(row.text, row.spans) for row in read_rows(path).rows] == [
        ("赵 以宁在青禾县。", (Span(0, 4, "PER"), Span(5, 8, "LOC"))),
        ("Nova 3  Pro 来了", (Span(0, 11, "产品"),)),
    ]


def test_blanks_are_where_tokens_say_so(write: Write) -> None:
    for blank, text in ((" ", "青禾县 。 "), (True, "青禾县 。 "), (False, "青禾县。"), ("", "青禾县。")):
        path = write("a.json", json.dumps([document(sentence(FIRST[3:], space=blank))]))
        assert [(row.text, row.spans) for row in read_rows(path).rows] == [(text, (Span(0, 3, "LOC"),))]


def test_tags_that_break_the_rules_are_counted(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write(
        "a.json", json.dumps([document(sentence([("赵", "B-PER"), ("在", "O"), ("云", "U-LOC"), ("了", None)]))])
    )
    assert [row.spans for row in read_rows(path).rows] == [(Span(2, 3, "LOC"),)]
    assert caplog.messages[-1] == f"{path}: left out: 1 tags that break the rules of BILUO"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (document({"tokens": [{"orth": "赵"}]}), r"a\.json:1: token '赵' has no ner \(have: orth\)"),
        (document({"tokens": [{"orth": "", "ner": "O"}]}), r"a\.json:1: orth is '', want text that is not empty"),
        (document({"tokens": [{"orth": "赵", "ner": 1}]}), r"a\.json:1: ner is 1, want a tag such as B-PER"),
        (
            document({"tokens": [{"orth": "赵", "ner": "S-PER"}]}),
            r"a\.json:1: tag 'S-PER' among tags in the notation BILU",
        ),
        (document(sentence(FIRST), raw="云杉"), r"a\.json:1: token '赵' is not in raw after character 0"),
        (document({"brackets": []}), r"a\.json:1: no tokens"),
        ({"paragraphs": [{"raw": "x"}]}, r"a\.json:1: no sentences"),
        ({"paragraphs": ["x"]}, r"a\.json:1: not a JSON object but 'x'"),
    ],
)
def test_what_is_wrong_is_told(write: Write, value: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_rows(write("a.json", json.dumps(value)))
