"""Readers and writers of rows: every form, exact offsets, round trips."""

from __future__ import annotations

import csv
import gzip
import io
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.tagging import (
    Form,
    Notation,
    RowKind,
    RowWriter,
    TagFile,
    iter_rows,
    labelled_text,
    read_rows,
    recognise,
    to_characters,
    untouched_spans,
)
from pipeline.data.formats.tagging.notation import NOTATIONS, PLAIN
from pipeline.data.formats.tagging.tokens import join_tokens
from pipeline.errors import DataError
from pipeline.text import normalise
from pipeline.text.spans import Span
from tests.data.formats.tagging.rows import ENTITY_ROW, REGION, TOKEN_ROW, Write, lines, table


def written(read: TagFile, notation: Notation | None = None) -> str:
    """Return what a writer makes of rows and their own spans."""
    file = io.StringIO(newline="")
    writer = RowWriter(file, notation or read.notation or Notation())
    for row in read.rows:
        writer.write(row, row.spans)
    return file.getvalue()


# --- entity rows


def test_entity_rows_keep_the_offsets_of_the_untouched_text(write: Write) -> None:
    text = "ＡＢＣ公司\u200b&amp;云杉  汽车"
    row = {"id": 7, "text": text, "entities": [{"from": 0, "to": 5, "type": "公司"}, {"from": 11, "to": 17}]}
    read = read_rows(write("a.jsonl", lines(row)))
    assert (read.notation, read.labels) == (None, ["", "公司"])
    assert read.rows[0].spans == (Span(0, 5, "公司"), Span(11, 17, ""))
    normalised = labelled_text(read.rows[0])
    assert normalised.text == "abc公司&云杉 汽车"
    assert normalised.spans == (Span(0, 5, "公司"), Span(6, 11, ""))
    assert tuple(untouched_spans(normalise(text), normalised.spans)) == read.rows[0].spans


def test_entity_rows_may_nest_and_repeat(write: Write) -> None:
    entities = [{"from": 0, "to": 4}, {"from": 0, "to": 2}, {"from": 0, "to": 4}]
    assert read_rows(write("a.jsonl", lines({"text": "青禾科技", "entities": entities}))).rows[0].spans == (
        Span(0, 2),
        Span(0, 4),
    )


def test_a_written_entity_row_keeps_its_other_keys(write: Write) -> None:
    row = ENTITY_ROW | {"id": "007", "note": None}
    assert written(read_rows(write("a.jsonl", lines(row)))) == lines(row)


def test_a_lone_surrogate_is_read_and_tagged_around(write: Write) -> None:
    row = read_rows(write("a.jsonl", '{"text": "青\\ud800禾", "entities": [{"from": 2, "to": 3}]}')).rows[0]
    assert row.text == "青\ud800禾"
    assert labelled_text(row).text == "青\ufffd禾"


def test_spans_of_nothing_visible_are_dropped_for_training(write: Write) -> None:
    row = {"text": "青 \u200b禾", "entities": [{"from": 1, "to": 3}, {"from": 3, "to": 4}]}
    assert labelled_text(read_rows(write("a.jsonl", lines(row))).rows[0]).spans == (Span(2, 3),)


def test_of_found_spans_that_share_a_character_one_is_kept() -> None:
    normalised = normalise("青…禾")
    assert normalised.text == "青...禾"
    assert untouched_spans(normalised, [Span(0, 2), Span(2, 3), Span(4, 5)]) == [Span(0, 2), Span(2, 3)]


# --- tokens


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["青禾", "科技"], "青禾科技"),
        (["Nova", "3", "pro"], "Nova 3 pro"),
        (["青", "Nova", "禾"], "青Nova禾"),
        (["Ｎova", "３"], "Ｎova ３"),
        (["Café", "Ñandú"], "Café Ñandú"),
        (["a", ",", "b"], "a,b"),
        (["3", "月", "3", ".", "5"], "3月3.5"),
        ([], ""),
    ],
)
def test_join_tokens_puts_blanks_between_latin_words_alone(tokens: list[str], text: str) -> None:
    joined, places = join_tokens(tokens)
    assert joined == text
    assert [joined[start:stop] for start, stop in places] == tokens


tokens_of_text = st.lists(st.text(st.sampled_from("青禾Nova3３é。 \u200b😀"), min_size=1, max_size=4), max_size=8)


@given(tokens_of_text)
def test_joined_tokens_lie_where_their_places_say(tokens: list[str]) -> None:
    text, places = join_tokens(tokens)
    assert [text[start:stop] for start, stop in places] == tokens
    between = [text[first[1] : second[0]] for first, second in pairwise(places)]
    assert set(between) <= {"", " "}
    assert len(text) == sum(map(len, tokens)) + between.count(" ")


@pytest.mark.parametrize(
    ("tags", "letters"),
    [
        (["B-A", "I-A", "O"], "BI"),
        (["B", "I", "O"], "BI"),
        (["O"], "BI"),
        ([], "BI"),
        (["B-A", "I-A", "E-A", "S-A"], "BIES"),
        (["S", "E"], "BIES"),
        (["B", "M", "E", "S"], "BMES"),
        (["B-A-B", "L-A-B", "U-A"], "BILU"),
        (["B-A", "M-A", "W-A"], "BMEW"),
        (["NN", "VV", "M"], PLAIN),
        (["NN", "O"], PLAIN),
        (["名词", "S"], PLAIN),
    ],
)
def test_the_notation_is_recognised(tags: list[str], letters: str) -> None:
    assert Notation.of(tags) == Notation(letters)


def test_letters_of_no_notation_are_refused() -> None:
    with pytest.raises(DataError, match=r"tags begin with B, I, M: no notation has these \(have: BI, BIES, BMES"):
        Notation.of(["B-A", "I-A", "M-A"])


@st.composite
def token_rows(draw: st.DrawFn) -> tuple[Notation, list[dict[str, list[str]]]]:
    """Draw well-formed rows of one notation, by which it can be told from the others."""
    notation = Notation(draw(st.sampled_from([*NOTATIONS, PLAIN])))
    label = st.sampled_from(["NN", "公司-A", "x y"])
    rows = []
    for tokens in [["a", "b", "c", "d", "e"], *draw(st.lists(tokens_of_text, max_size=3))]:
        spans, position = [], 0
        while position < len(tokens):
            length = 1 if notation.is_plain else draw(st.integers(1, 3))
            if position + length <= len(tokens) and draw(st.booleans()):
                spans.append(Span(position, position + length, draw(label)))
            position += length
        rows.append({"tokens": tokens, "tags": notation.tags(spans, len(tokens))})
    # One span of three tokens and one of one show all letters.
    spans = [Span(0, 1, "NN"), Span(1, 2, "NN")] if notation.is_plain else [Span(0, 3, "NN"), Span(3, 4, "NN")]
    rows[0]["tags"] = notation.tags(spans, 5)
    return notation, rows


@given(token_rows())
def test_token_rows_to_spans_and_back(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Notation, list[dict[str, list[str]]]]
) -> None:
    notation, rows = case
    path = tmp_path_factory.getbasetemp() / "round_trip.jsonl"
    path.write_text(lines(*rows), encoding="utf-8")
    read = read_rows(path)
    assert read.notation == notation
    assert not any(row.unknown for row in read.rows)
    assert written(read) == lines(*rows)
    for row, source in zip(read.rows, rows, strict=True):
        in_tokens, unknown = notation.spans(source["tags"])
        assert unknown == []
        assert notation.to_tokens(row.spans, row.tokens) == in_tokens
        assert to_characters(in_tokens, row.tokens) == row.spans


def test_tags_become_spans_of_characters(write: Write) -> None:
    row = read_rows(write("a.jsonl", lines(TOKEN_ROW))).rows[0]
    assert (row.kind, row.text) == (RowKind.TOKENS, "青禾发布Nova 3")
    assert row.spans == (Span(0, 2, "公司"), Span(4, 10, "产品"))


def test_broken_tags_name_nothing_are_counted_and_are_unknown_to_training(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    tags = [["O", "I-A", "I-A"], ["B-A", "I-B", "O"], ["B-A", "I-A", "O"]]
    path = write("a.jsonl", lines(*({"tokens": list("青禾云"), "tags": row} for row in tags)))
    rows = read_rows(path, form=Form(tags="BIO")).rows
    assert [row.spans for row in rows] == [(), (Span(0, 1, "A"),), (Span(0, 2, "A"),)]
    assert [labelled_text(row).unknown for row in rows] == [((1, 2), (2, 3)), ((1, 2),), ()]
    assert caplog.messages == [f"{path}: 3 tags break the rules of their notation (first: line 1)"]


def test_found_spans_must_fit_tokens_unless_tags_are_plain() -> None:
    _, places = join_tokens(["青禾", "科技", "发布", "Nova"])
    spans = [Span(0, 4, "A"), Span(4, 5, "B"), Span(5, 10, "C")]
    assert Notation().to_tokens(spans, places) == [Span(0, 2, "A")]
    plain = Notation(PLAIN).to_tokens(spans, places)
    assert plain == [Span(0, 1, "A"), Span(1, 2, "A"), Span(2, 3, "B"), Span(3, 4, "C")]
    assert Notation(PLAIN).tags(plain, 4) == ["A", "A", "B", "C"]


# --- tables

cells = st.text(st.sampled_from("青禾,\"\r\n' ;a\t😀"), max_size=12)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4), st.booleans())
def test_tables_survive_being_read_and_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], with_bom: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "table.csv"
    labelled = [
        (other, text, json.dumps([{"start": 0, "end": len(text), "text": text, "labels": ["A"]}] if text else []))
        for other, text in rows
    ]
    path.write_bytes(b"\xef\xbb\xbf" * with_bom + table(("id", "text", "label"), *labelled).encode())
    read = read_rows(path)
    assert [(row.source["id"], row.text) for row in read.rows] == rows
    assert [row.spans for row in read.rows] == [(Span(0, len(text), "A"),) if text else () for _, text in rows]
    path.write_bytes(written(read).encode())
    again = read_rows(path)
    assert [(row.source["id"], row.text, row.spans) for row in again.rows] == [
        (row.source["id"], row.text, row.spans) for row in read.rows
    ]


def test_the_apostrophe_before_a_formula_is_of_the_text_where_regions_count_it(write: Write) -> None:
    ours = {"start": 0, "end": 2, "text": "=青", "labels": ["A"]}
    theirs = {**ours, "start": 1, "end": 3}
    content = table(("text", "label"), ("'=青", json.dumps([ours])), ("'=青", json.dumps([theirs])), ("'=青", ""))
    path = write("a.csv", content)
    assert [(row.text, row.spans) for row in read_rows(path).rows] == [
        ("=青", (Span(0, 2, "A"),)),
        ("'=青", (Span(1, 3, "A"),)),
        ("=青", ()),
    ]
    assert [row.text for row in iter_rows(path)] == ["=青"] * 3


def test_tables_as_annotation_tools_export_them(write: Write) -> None:
    regions = [REGION, {"start": 2, "end": 4, "labels": ["产品", "新"]}]
    content = table(("label", "text"), (json.dumps(regions), "青禾新品"), ("", "无"), ("[]", "无"), ("null", "无"))
    read = read_rows(write("a.csv.gz", gzip.compress(content.encode())))
    assert read.rows[0].spans == (Span(0, 2, "公司"), Span(2, 4, "产品"), Span(2, 4, "新"))
    assert [row.spans for row in read.rows[1:]] == [()] * 3
    assert [row.line for row in read.rows] == [2, 3, 4, 5]


def test_a_table_to_be_tagged_needs_no_label_and_gets_one(write: Write) -> None:
    rows = list(iter_rows(write("a.csv", table(("id", "text"), ("007", "青禾\n科技"), ("008", "云杉")))))
    assert [(row.line, row.text, row.spans) for row in rows] == [(2, "青禾\n科技", ()), (4, "云杉", ())]
    file = io.StringIO(newline="")
    writer = RowWriter(file, Notation())
    writer.write(rows[0], [Span(0, 2, "公司")])
    cells = next(iter(list(csv.reader(io.StringIO(file.getvalue(), newline="")))[1:]))
    assert cells[:2] == ["007", "青禾\n科技"]
    assert json.loads(cells[2]) == [REGION]


def test_a_long_cell_is_read(write: Write) -> None:
    text = "青" * 200_000
    assert read_rows(write("a.csv", table(("text", "label"), (text, "")))).rows[0].text == text


# --- recognising, plain text, gzip


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.csv", "{", RowKind.TABLE),
        ("A.CSV.GZ", "", RowKind.TABLE),
        ("a.txt", "\n\n" + lines(TOKEN_ROW), RowKind.TOKENS),
        ("a.json", "\ufeff" + lines(ENTITY_ROW), RowKind.ENTITIES),
        ("a.jsonl", "  " + lines({"text": "青"}), RowKind.ENTITIES),
        ("a.jsonl", "青禾\n", RowKind.TEXT),
        ("a.jsonl.gz", gzip.compress(lines(TOKEN_ROW).encode(), mtime=0), RowKind.TOKENS),
    ],
)
def test_the_format_goes_by_name_and_first_row(write: Write, name: str, content: str | bytes, kind: RowKind) -> None:
    assert recognise(write(name, content)) == kind


def test_plain_text_is_a_sentence_a_line(write: Write) -> None:
    rows = list(iter_rows(write("a.txt", "青禾 \r\n\n \t\n云\u2028杉")))
    assert [(row.line, row.text) for row in rows] == [(1, "青禾 "), (4, "云\u2028杉")]
    file = io.StringIO()
    RowWriter(file, Notation()).write(rows[0], [Span(0, 2, "A")])
    entity = {"entity": "青禾", "type": "A", "from": 0, "to": 2}
    assert json.loads(file.getvalue()) == {"text": "青禾 ", "entities": [entity]}


def test_rows_to_be_tagged_are_read_without_looking_at_labels(write: Write) -> None:
    path = write("a.jsonl", lines({"text": "青", "entities": 5}, {"text": "禾"}))
    assert [row.spans for row in iter_rows(path)] == [(), ()]
    path = write("a.jsonl", lines({"tokens": ["青"], "tags": 5}, {"tokens": ["禾"]}))
    assert [row.text for row in iter_rows(path)] == ["青", "禾"]
