"""Rows of annotation tools: recognised by what they hold, told in a line, read rightly."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pipeline.data.formats.tagging import FORMATS, Form, RowKind, TagFile, count_lines, iter_rows, read_rows, recognise
from pipeline.data.lines import tell
from pipeline.errors import ConfigError, DataError
from pipeline.text.spans import Span
from tests.data.formats.tagging.rows import ENTITY_ROW, REGION, TOKEN_ROW, Write, lines, table

FILES = Path("tests/files/inputs")
TEXT = "赵以宁在青禾县。"
PER, LOC = Span(0, 3, "PER"), Span(4, 7, "LOC")


@pytest.fixture(autouse=True)
def say_again(caplog: pytest.LogCaptureFixture) -> None:
    tell.cache_clear()
    caplog.set_level(logging.INFO)


@pytest.mark.parametrize(
    ("file", "name", "whose", "n_rows", "n_spans"),
    [
        ("cluener.json", "cluener", "CLUENER's", 60, 170),
        ("doccano_label.jsonl", "doccano", "doccano's", 60, 170),
        ("doccano_relation.jsonl", "doccano", "doccano's", 60, 170),
        ("labelstudio_pretty.json", "labelstudio", "Label Studio's", 60, 170),
        ("labelstudio_gbk.csv", "table", "a table's", 60, 170),
    ],
)
def test_files_of_tools_are_read_rightly(
    caplog: pytest.LogCaptureFixture, file: str, name: str, whose: str, n_rows: int, n_spans: int
) -> None:
    read = read_rows(FILES / file)
    assert caplog.messages[-1] == f"{FILES / file}: rows are {whose}: {n_rows} rows, 3 types (--format settles it)"
    assert recognise(FILES / file) == name
    assert (len(read.rows), read.labels, read.notation) == (n_rows, ["LOC", "ORG", "PER"], None)
    assert sum(len(row.spans) for row in read.rows) == n_spans
    assert read.rows[0].text == "赵以宁昨天在青禾县参观了海棠书店。"
    assert read.rows[0].spans == (Span(0, 3, "PER"), Span(6, 9, "LOC"), Span(12, 16, "ORG"))
    assert [row.text for row in iter_rows(FILES / file)] == [row.text for row in read.rows]


def test_all_tools_mark_the_same_spans() -> None:
    """The five files, and the tokens of the same texts, were exported from one set of rows."""
    files = ("cluener.json", "doccano_label.jsonl", "doccano_relation.jsonl", "labelstudio_pretty.json")
    want = spans_of(read_rows(FILES / "labelstudio_gbk.csv"))
    for file in files:
        assert spans_of(read_rows(FILES / file)) == want
    assert spans_of(read_rows(FILES.parent / "tok_underscore.jsonl")) == want


@pytest.mark.parametrize(
    ("file", "n_rows", "n_spans", "labels"),
    [
        ("gold10.jsonl", 10, 28, ["LOC", "ORG", "PER"]),
        ("pred_short.jsonl", 10, 28, ["LOC", "ORG", "PER"]),
        ("dev_new_type.jsonl", 20, 57, ["LOC", "ORG", "PER", "TIME"]),
        ("ls_multilabel.csv", 60, 230, ["LOC", "ORG", "PER", "VIP"]),
    ],
)
def test_rows_of_ours_are_read_as_before(file: str, n_rows: int, n_spans: int, labels: list[str]) -> None:
    read = read_rows(FILES / file)
    assert (len(read.rows), sum(len(row.spans) for row in read.rows), read.labels) == (n_rows, n_spans, labels)


def test_two_types_in_a_file_of_a_tool_are_told(caplog: pytest.LogCaptureFixture) -> None:
    read_rows(FILES / "ls_multilabel.csv")
    assert (
        f"{FILES / 'ls_multilabel.csv'}: 60 spans have two types (first: line 2, 赵以宁 is PER and VIP); "
        "a tagger learns the first of them alone"
    ) in caplog.messages


@pytest.mark.parametrize(("file", "line"), [("array_pretty.json", 2), ("trad_test.jsonl", 1)])
def test_articles_are_no_tagging_rows(file: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"{file}:{line}: has neither text nor tokens \(have: newsId") as caught:
        read_rows(FILES / file)
    assert caught.value.hint == "rows with newsId, title and content are articles: tag wants text"


def test_texts_alone_are_tagged_but_teach_nothing() -> None:
    assert [row.source["id"] for row in iter_rows(FILES / "idtext.jsonl")] == ["c72bd3f1", "bef91a27"]
    with pytest.raises(DataError, match=r"idtext.jsonl:1: no entities \(have: id, title, text\)"):
        read_rows(FILES / "idtext.jsonl")


REGIONS = [
    {"start": 0, "end": 3, "text": "赵以宁", "labels": ["PER"]},
    {"start": 4, "end": 7, "text": "青禾县", "labels": ["LOC"]},
]
RESULT = [{"value": region, "from_name": "label", "to_name": "text", "type": "labels"} for region in REGIONS]
TRIPLES = [[0, 3, "PER"], [4, 7, "LOC"]]
PLACES = [{"start": start, "end": end, "label": label} for start, end, label in TRIPLES]
OFFSETS = [{"id": 1, "label": label, "start_offset": start, "end_offset": end} for start, end, label in TRIPLES]
BILUO = [
    {"orth": "赵以宁", "ner": "U-PER"},
    {"orth": "在", "ner": "O"},
    {"orth": "青禾县", "ner": "U-LOC"},
    {"orth": "。", "ner": "O"},
]
VARIANTS: dict[str, tuple[str, object]] = {
    "ours": ("entities", {"text": TEXT, "entities": [{"type": t, "from": s, "to": e} for s, e, t in TRIPLES]}),
    "doccano, label": ("doccano", {"id": 1, "text": TEXT, "label": TRIPLES}),
    "doccano, labels": ("doccano", {"text": TEXT, "labels": TRIPLES, "meta": {}}),
    "doccano, data": ("doccano", {"id": 1, "data": TEXT, "label": TRIPLES}),
    "doccano, relations": ("doccano", {"text": TEXT, "entities": OFFSETS, "relations": [], "Comments": []}),
    "doccano, annotations": ("doccano", {"text": TEXT, "annotations": OFFSETS}),
    "CLUENER": ("cluener", {"text": TEXT, "label": {"PER": {"赵以宁": [[0, 2]]}, "LOC": {"青禾县": [[4, 6]]}}}),
    "Label Studio": ("labelstudio", {"id": 1, "data": {"text": TEXT}, "annotations": [{"result": RESULT}]}),
    "Label Studio, old": ("labelstudio", {"data": {"text": TEXT}, "completions": [{"result": RESULT}]}),
    "Label Studio, other key": ("labelstudio", {"data": {"body": TEXT}, "annotations": [{"result": RESULT}]}),
    "Label Studio, JSON-MIN": ("labelstudio", {"text": TEXT, "id": 1, "label": REGIONS, "annotator": 1}),
    "Label Studio, other name": ("labelstudio", {"text": TEXT, "id": 1, "ner": REGIONS, "annotator": 1}),
    "spaCy, pair": ("spacy", [TEXT, {"entities": TRIPLES}]),
    "spaCy, row": ("spacy", {"text": TEXT, "entities": TRIPLES}),
    "spaCy, more than a type": ("spacy", [TEXT, {"entities": [[*triple, "Q1"] for triple in TRIPLES]}]),
    "spaCy, document": (
        "spacy",
        {"text": TEXT, "ents": PLACES, "sents": [], "tokens": [{"id": 0, "start": 0, "end": 3}]},
    ),
    "spaCy, spans": ("spacy", {"text": TEXT, "spans": PLACES, "answer": "accept"}),
    "spaCy, objects": ("spacy", {"text": TEXT, "entities": PLACES}),
    "spaCy, training": ("spacy", {"id": 0, "paragraphs": [{"sentences": [{"tokens": BILUO}]}]}),
    "spaCy, one object": ("spacy", {"classes": ["PER"], "annotations": [[TEXT, {"entities": TRIPLES}]]}),
}


LAYOUTS = ("lines", "array", "pretty array", "pretty objects")


@pytest.mark.parametrize(
    ("variant", "layout"),
    [
        (variant, layout)
        for variant, (_, row) in VARIANTS.items()
        for layout in (LAYOUTS if isinstance(row, dict) else LAYOUTS[:3])  # a pair over several lines is an array
    ],
)
def test_every_variant_is_recognised_in_every_layout(write: Write, variant: str, layout: str) -> None:
    name, row = VARIANTS[variant]
    content = {
        "lines": lines(row, row),
        "array": json.dumps([row, row], ensure_ascii=False),
        "pretty array": "\n" + json.dumps([row, row], indent=2),
        "pretty objects": json.dumps(row, indent=1) + "\n" + json.dumps(row, indent=4),
    }[layout]
    path = write("a.json", content)
    assert recognise(path) == name
    assert [row.spans for row in read_rows(path).rows] == [(PER, LOC)] * 2
    assert [(row.text, row.kind) for row in iter_rows(path)] == [(TEXT, RowKind.ENTITIES)] * 2
    assert spans_of(read_rows(path, form=Form(format=name))) == [(PER, LOC)] * 2


@pytest.mark.parametrize(
    ("unlabelled", "variant"),
    [
        ({"text": "无", "label": []}, "doccano, label"),
        ({"text": "无", "entities": [], "relations": []}, "doccano, relations"),
        ({"text": "无", "label": {}}, "CLUENER"),
        ({"text": "无", "id": 2, "label": []}, "Label Studio, JSON-MIN"),
        ({"text": "无", "id": 2}, "Label Studio, JSON-MIN"),
        ({"text": "无", "entities": []}, "spaCy, row"),
        (["无", {"entities": []}], "spaCy, pair"),
    ],
)
def test_rows_without_spans_may_come_first(write: Write, unlabelled: object, variant: str) -> None:
    name, row = VARIANTS[variant]
    path = write("a.jsonl", lines(unlabelled, row))
    assert recognise(path) == name
    assert spans_of(read_rows(path)) == [(), (PER, LOC)]


def test_the_format_that_is_named_counts(write: Write) -> None:
    path = write("a.jsonl", lines({"text": TEXT, "entities": TRIPLES, "label": [[0, 1, "X"]]}))
    assert spans_of(read_rows(path)) == [(PER, LOC)]
    assert spans_of(read_rows(path, form=Form(format="doccano"))) == [(Span(0, 1, "X"),)]
    with pytest.raises(ConfigError, match="unknown format 'docano'") as caught:
        read_rows(path, form=Form(format="docano"))
    assert caught.value.hint == "did you mean 'doccano'?"
    with pytest.raises(ConfigError, match="unknown format 'xyz'") as caught:
        read_rows(path, form=Form(format="xyz"))
    assert all(name in str(caught.value) for name in FORMATS)


def test_what_is_no_span_is_counted(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    relations = {"text": TEXT, "entities": OFFSETS, "relations": [{"id": 1}, {"id": 2}], "Comments": ["x"]}
    path = write("a.jsonl", lines(relations, relations))
    read_rows(path, form=Form(format="doccano"))
    assert caplog.messages == [f"{path}: rows are doccano's: 2 rows, 2 types; not read: 4 relations, 2 comments"]


def test_annotations_of_a_task_that_are_not_read_are_told(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    task = {"id": 7, "data": {"text": TEXT, "author": "x"}}
    beside = [
        {"type": "relation", "from_id": "a", "to_id": "b"},
        {"type": "choices", "value": {"choices": ["x"]}},
        {"type": "labels", "value": {"start": 0, "end": 1}},
    ]
    path = write(
        "a.json",
        json.dumps(
            [
                {**task, "annotations": [{"result": [*RESULT, *beside]}, {"result": []}]},
                {**task, "annotations": [{"result": RESULT, "was_cancelled": True}]},
                {**task, "annotations": []},
                {**task, "annotations": [{"result": []}]},
            ]
        ),
    )
    assert spans_of(read_rows(path)) == [(PER, LOC), ()]
    assert caplog.messages == [
        f"{path}: rows are Label Studio's: 2 rows, 2 types (--format settles it); not read: 1 relations, 1 choices",
        f"{path}: left out: 1 annotations of tasks that have several (the first is read), "
        "1 regions without a label, 2 tasks without an annotation",
    ]
    assert len(list(iter_rows(path))) == 4


def test_a_file_whose_rows_are_all_left_out_says_so(write: Write) -> None:
    path = write("a.json", json.dumps([{"data": {"text": TEXT}, "annotations": []}]))
    with pytest.raises(DataError, match=r"a.json: holds no row: 1 tasks without an annotation"):
        read_rows(path)


def test_offsets_that_count_an_emoji_as_two_are_read_where_the_text_shows_it(write: Write) -> None:
    text = "😀赵以宁"
    region = {"start": 2, "end": 5, "text": "赵以宁", "labels": ["PER"]}
    usual = {**region, "start": 1, "end": 4}
    path = write("a.jsonl", lines({"text": text, "label": [region]}, {"text": text, "label": [usual]}))
    assert spans_of(read_rows(path)) == [(Span(1, 4, "PER"),)] * 2
    assert spans_of(read_rows(write("a.csv", table(("text", "label"), (text, json.dumps([region])))))) == [
        (Span(1, 4, "PER"),)
    ]


def test_other_keys_are_kept_and_labels_are_not(write: Write) -> None:
    row = next(iter_rows(write("a.jsonl", lines({"id": 7, "text": TEXT, "label": TRIPLES, "meta": {"a": 1}}))))
    assert row.source == {"id": 7, "text": TEXT, "meta": {"a": 1}}


# --- tables and encodings

TABLE = table(("id", "text", "label"), ("1", "青禾在东边的山里", json.dumps([REGION], ensure_ascii=False)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gb18030"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
def test_tables_in_every_encoding(write: Write, name: str, encoding: str) -> None:
    rows = [tuple(row) for row in (("id", "text", "label"), ("1", "青禾在东边的山里", json.dumps([REGION])))]
    content = table(*rows) if name == "a.csv" else "\n".join("\t".join(quoted(cell) for cell in row) for row in rows)
    path = write(name, content.encode(encoding))
    for form in (Form(), Form(format="table", encoding=encoding)):
        read = read_rows(path, form=form)
        assert [(row.source["id"], row.text, row.spans) for row in read.rows] == [
            ("1", "青禾在东边的山里", (Span(0, 2, "公司"),))
        ]
    assert recognise(path) == "table"


@pytest.mark.parametrize("variant", ["CLUENER", "doccano, label", "Label Studio", "spaCy, pair"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_rows_of_tools_in_every_encoding(write: Write, variant: str, encoding: str) -> None:
    name, row = VARIANTS[variant]
    path = write("a.json", json.dumps([row], ensure_ascii=False, indent=1).encode(encoding))
    assert recognise(path) == name
    assert spans_of(read_rows(path)) == [(PER, LOC)]
    assert spans_of(read_rows(path, form=Form(encoding=encoding))) == [(PER, LOC)]


def test_tabs_without_a_header_are_columns(write: Write) -> None:
    read = read_rows(write("a.tsv", "青\tB-A\n禾\tI-A\n\n"))
    assert (read.rows[0].kind, read.rows[0].spans) == (RowKind.COLUMNS, (Span(0, 2, "A"),))


def test_the_likely_encoding_is_named(write: Write) -> None:
    path = write("a.csv", TABLE.encode() + '2,青禾科技在东边,"[]"\n'.encode("gb18030"))
    with pytest.raises(DataError, match=r"a.csv:3: not UTF-8: byte 3 of the line") as caught:
        read_rows(path)
    assert caught.value.hint == "the line looks like GB18030: --encoding gb18030 reads the file so"


def test_lines_are_counted_where_each_is_a_row(write: Write) -> None:
    assert count_lines(write("a.jsonl", lines(ENTITY_ROW, ENTITY_ROW))) == 2
    assert count_lines(write("b.csv", TABLE)) is None
    assert count_lines(write("c.jsonl", lines(TOKEN_ROW)), Form(format="tokens")) == 1


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if '"' in cell else cell


def spans_of(read: TagFile) -> list[tuple[Span, ...]]:
    return [row.spans for row in read.rows]
