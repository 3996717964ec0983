"""How people write tags: the tables of letters and spellings, what is recognised, and what stops."""

from __future__ import annotations

import io
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.tagging import Form, Notation, RowKind, RowWriter, TagFile, read_rows
from pipeline.data.formats.tagging.conventions import LETTERS, SPELLINGS, Spelling
from pipeline.data.formats.tagging.notation import PLAIN
from pipeline.errors import ConfigError, DataError
from pipeline.text.spans import Span
from tests.data.formats.tagging.rows import ENTITY_ROW, Write, lines

FILES = Path("tests/files")
NAMES = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG")


def written(read: TagFile) -> str:
    file = io.StringIO(newline="")
    writer = RowWriter(file, read.notation or Notation())
    for row in read.rows:
        writer.write(row, row.spans)
    return file.getvalue()


def rows_of(*tags: list[str], repeat: int = 1) -> str:
    return lines(*({"tokens": list("青禾云杉汽车")[: len(row)], "tags": row} for row in tags)) * repeat


@pytest.mark.parametrize(
    ("file", "kind", "notation", "n_rows", "n_spans"),
    [
        ("tok_underscore.jsonl", RowKind.TOKENS, "BI _", 60, 170),
        ("iob1_tokens.jsonl", RowKind.TOKENS, "IOB1", 60, 180),
        ("tok_nertags_ints.jsonl", RowKind.TOKENS, "BI", 60, 170),
        ("bio_space.txt", RowKind.COLUMNS, "BI", 40, 113),
        ("bmes.char.bmes", RowKind.COLUMNS, "BMES", 40, 113),
    ],
)
def test_files_of_every_convention_are_read_rightly(
    file: str, kind: RowKind, notation: str, n_rows: int, n_spans: int
) -> None:
    read = read_rows(FILES / file, form=Form(tag_names=NAMES))
    assert (read.rows[0].kind, str(read.notation), len(read.rows)) == (kind, notation, n_rows)
    assert read.labels == ["LOC", "ORG", "PER"]
    assert sum(len(row.spans) for row in read.rows) == n_spans
    assert read.rows[0].spans[:3] == (Span(0, 3, "PER"), Span(6, 9, "LOC"), Span(12, 16, "ORG"))


def test_iob1_parts_neighbours_of_one_type() -> None:
    first = read_rows(FILES / "iob1_tokens.jsonl").rows[0]
    assert first.spans[3:] == (Span(17, 19, "PER"), Span(19, 21, "PER"))


@pytest.mark.parametrize("file", ["tok_underscore.jsonl", "iob1_tokens.jsonl"])
def test_rows_are_written_as_they_were_read(file: str) -> None:
    assert written(read_rows(FILES / file)) == (FILES / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["bio_space.txt", "bmes.char.bmes"])
def test_columns_are_written_as_they_were_read_but_for_a_row_that_is_cut_off(
    file: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = (FILES / file).read_text(encoding="utf-8")
    assert written(read_rows(FILES / file)) == text[: text.rindex("\n\n") + 2]
    assert caplog.messages == [f"{FILES / file}:783: the file is cut off within this line; the row is left out"]


@pytest.mark.parametrize(
    ("tags", "notation"),
    [
        (["PER-B", "PER-I", "O"], Notation("BI", Spelling("-", suffix=True))),
        (["b-PER", "i-PER", "o"], Notation("BI", Spelling("-", lower=True))),
        (["B_PER", "E_PER", "S_PER"], Notation("BIES", Spelling("_"))),
        (["B/PER", "M/PER", "E/PER"], Notation("BMES", Spelling("/"))),
        (["per_b", "per_i", "per_e"], Notation("BIES", Spelling("_", suffix=True, lower=True))),
        (["n", "v", "b", "m"], Notation(PLAIN)),
        (["nr_x", "B_x"], Notation(PLAIN)),
    ],
)
def test_spellings_are_recognised(tags: list[str], notation: Notation) -> None:
    assert Notation.of(tags) == notation
    assert Notation.parse(str(notation)) == notation


@st.composite
def well_formed(draw: st.DrawFn) -> tuple[Notation, list[Span], int]:
    notation = Notation(draw(st.sampled_from(sorted(LETTERS))), draw(st.sampled_from(SPELLINGS)))
    spans: list[Span] = []
    position = 0
    for length in draw(st.lists(st.integers(1, 3), max_size=6)):
        position += draw(st.integers(1 if notation.letters == "IO" else 0, 2))
        spans.append(Span(position, position + length, draw(st.sampled_from(["PER", "x y", "公司"]))))
        position += length
    return notation, spans, position + draw(st.integers(0, 2))


@given(well_formed())
def test_spans_to_tags_and_back(case: tuple[Notation, list[Span], int]) -> None:
    notation, spans, length = case
    tags = notation.tags(spans, length)
    assert notation.spans(tags) == (spans, [])
    assert notation.fit([tags]).n_lost == 0
    assert Notation.parse(str(notation)) == notation


def test_s_and_m_may_mean_start_and_middle(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write("a.jsonl", rows_of(["S-A", "M-A", "M-A", "O"], ["O", "S-B", "M-B", "S-B", "O"]))
    read = read_rows(path)
    assert str(read.notation) == "SM"
    assert [row.spans for row in read.rows] == [(Span(0, 3, "A"),), (Span(1, 3, "B"), Span(3, 4, "B"))]
    assert written(read) == path.read_text(encoding="utf-8")
    (message,) = caplog.messages
    assert message == (
        f"{path}: 2 of 5 spans break the rules of BMES, where S is a span of one token; "
        "they are read as SM, where S starts a span and M goes on"
    )


def test_start_middle_end_is_read_and_written(write: Write) -> None:
    path = write("a.jsonl", rows_of(["S-A", "M-A", "E-A", "O"], ["O", "S-B", "E-B", "O"]))
    read = read_rows(path)
    assert str(read.notation) == "SME"
    assert [row.spans for row in read.rows] == [(Span(0, 3, "A"),), (Span(1, 3, "B"),)]
    assert written(read) == path.read_text(encoding="utf-8")


def test_inside_tags_alone_are_read_as_io(write: Write) -> None:
    read = read_rows(write("a.jsonl", rows_of(["I-A", "I-A", "O", "I-B"])))
    assert (str(read.notation), read.rows[0].spans) == ("IO", (Span(0, 2, "A"), Span(3, 4, "B")))


def test_more_than_one_lost_span_in_a_hundred_stops_and_names_the_likely_scheme(write: Write) -> None:
    good, bad = ["B-A", "I-A", "O"], ["O", "I-A", "I-A"]
    path = write("a.jsonl", rows_of(good, repeat=97) + rows_of(bad, repeat=3))
    with pytest.raises(DataError, match=r"a.jsonl:98: 3 of 100 spans break the rules of BIO.*would be lost") as caught:
        read_rows(path)
    assert caught.value.hint is not None
    assert "--tags IOB1" in caught.value.hint
    assert "--tags BI" in caught.value.hint
    assert sum(len(row.spans) for row in read_rows(path, form=Form(tags="BIO")).rows) == 97
    assert sum(len(row.spans) for row in read_rows(path, form=Form(tags="iob1")).rows) == 100
    assert sum(len(row.spans) for row in read_rows(path, keeps_rules=False).rows) == 97


def test_one_lost_span_in_a_hundred_is_told_alone(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write("a.jsonl", rows_of(["B-A", "I-A", "O"], repeat=99) + rows_of(["O", "I-A", "I-A"]))
    assert sum(len(row.spans) for row in read_rows(path).rows) == 99
    assert caplog.messages == [f"{path}: 2 tags break the rules of their notation (first: line 100)"]


def test_random_tags_never_lose_spans_in_silence(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(5)
    tags = [f"{letter}-{label}" for letter in "BIES" for label in "AB"] + ["O"]
    for _ in range(40):
        path = write("a.jsonl", rows_of(*([rng.choice(tags) for _ in range(6)] for _ in range(4))))
        caplog.clear()
        with suppress(DataError):  # more than one in a hundred
            rows = read_rows(path).rows
            assert caplog.messages or not any(row.unknown for row in rows)


def test_a_notation_nobody_knows_is_refused(write: Write) -> None:
    with pytest.raises(ConfigError, match=r"no notation of tags 'BIX' \(have: BIO, IOB2"):
        read_rows(write("a.jsonl", rows_of(["B-A"])), form=Form(tags="BIX"))


def test_two_types_of_one_span_are_told_by_name(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    entities = [{"from": 0, "to": 4, "type": label} for label in ("公司", "品牌")]
    path = write("a.jsonl", lines(ENTITY_ROW, {**ENTITY_ROW, "entities": entities}))
    read_rows(path)
    assert caplog.messages == [
        f"{path}: 1 spans have two types (first: line 2, 青禾科技 is 公司 and 品牌); "
        "a tagger learns the first of them alone"
    ]


# --- columns


def test_columns_keep_comments_other_columns_tabs_and_line_ends(write: Write) -> None:
    text = "# one\n青\tNR\tB-A\n禾\tNR\tI-A\n\n# two\n#\tPU\tO\n云\tNR\tB-A\n\n"
    path = write("a.txt", text.replace("\n", "\r\n"))
    read = read_rows(path)
    assert [(row.line, row.text, row.spans) for row in read.rows] == [
        (2, "青禾", (Span(0, 2, "A"),)),
        (6, "#云", (Span(1, 2, "A"),)),
    ]
    assert written(read) == text


def test_columns_of_plain_tags_are_told_by_the_name_of_the_file(write: Write) -> None:
    text = "我 PN\n来 VV\n\n-DOCSTART- -X-\n\n她 PN\n\n"
    assert [row.tags for row in read_rows(write("a.conll", text)).rows] == [("PN", "VV"), ("PN",)]
    with pytest.raises(DataError, match="plain text"):
        read_rows(write("a.txt", text))
    assert len(read_rows(write("b.txt", text), form=Form(format="columns")).rows) == 2


def test_columns_may_begin_with_a_bracket(write: Write) -> None:
    text = "{ O\n青 B-A\n} O\n\n"
    assert [row.spans for row in read_rows(write("a.txt", text)).rows] == [(Span(1, 2, "A"),)]


def test_numbers_need_names(write: Write) -> None:
    path = write("a.jsonl", lines({"tokens": ["青"], "ner_tags": [7]}))
    with pytest.raises(DataError, match="ner_tags holds numbers such as 7") as caught:
        read_rows(path)
    assert caught.value.hint == "name them: --tag-names O,B-PER,I-PER,..."
    with pytest.raises(DataError, match="entry 1 of ner_tags is 7, want 0 to 6"):
        read_rows(path, form=Form(tag_names=NAMES))
