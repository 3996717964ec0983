"""Rows written in a format of choice, and read again: equal."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.tagging import WRITERS, Form, RowKind, TagRow, read_rows, recognise, write_rows, written_rows
from pipeline.data.formats.tagging.tokens import join_tokens
from pipeline.errors import ConfigError, DataError
from pipeline.text.spans import Span, choose_spans

FILES = Path("tests/files/inputs")
LABELS = st.sampled_from(["PER", "地点", "x y", "B-A"])


def row_of(text: str, *spans: Span, tokens: tuple[tuple[int, int], ...] = ()) -> TagRow:
    return TagRow(RowKind.ENTITIES, 1, {"text": text}, text, tuple(sorted(set(spans))), tokens)


def put(path: Path, given_rows: list[TagRow], name: str) -> int:
    """Write as ``write_rows`` does, without waiting for the disk at each example."""
    parts = list(written_rows(given_rows, name, Counter()))
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(parts)
    return len(parts)


@st.composite
def rows(draw: st.DrawFn, *, text: st.SearchStrategy[str]) -> TagRow:
    drawn = draw(text)
    ends = st.integers(0, len(drawn))
    spans = draw(st.lists(st.tuples(ends, ends, LABELS), max_size=4))
    return row_of(drawn, *(Span(*sorted(span[:2]), span[2]) for span in spans if span[0] != span[1]))


chinese = st.text(st.sampled_from("青禾汽车。，#😀"), min_size=1, max_size=12)
any_text = st.text(st.sampled_from('青禾Nova3 é。\u200b😀\t\r\n\u2028"\\#[{'), max_size=12)


@pytest.mark.parametrize("name", ["entities", "doccano", "cluener", "spacy"])
@given(st.lists(rows(text=any_text), min_size=1, max_size=4))
def test_json_survives_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, name: str, given_rows: list[TagRow]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"{name}.jsonl"
    assert put(path, given_rows, name) == len(given_rows)
    read = read_rows(path, form=Form(format=name))
    assert [(row.text, row.spans) for row in read.rows] == [(row.text, row.spans) for row in given_rows]
    if any(row.spans for row in given_rows):
        assert recognise(path) == name


@given(
    st.lists(rows(text=st.text(st.sampled_from("青禾汽车。，#😀"), min_size=1, max_size=12)), min_size=1, max_size=4)
)
def test_columns_survive_where_no_spans_overlap(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[TagRow]
) -> None:
    path = tmp_path_factory.getbasetemp() / "columns.bio"
    assert put(path, given_rows, "columns") == len(given_rows)
    read = read_rows(path, form=Form(tags="BIO"))
    assert [(row.text, list(row.spans)) for row in read.rows] == [
        (row.text, choose_spans(row.spans)[0]) for row in given_rows
    ]


@given(rows(text=any_text))
def test_columns_of_any_text_can_be_read(tmp_path_factory: pytest.TempPathFactory, row: TagRow) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bio"
    n_rows = put(path, [row, row_of("青", Span(0, 1, "A"))], "columns")
    assert len(read_rows(path, form=Form(tags="BIO")).rows) == n_rows


def test_words_stay_whole_and_given_tokens_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.bio"
    text, tokens = join_tokens(["青禾", "发布", "Nova"])
    write_rows(
        path,
        [row_of("青禾发布Nova 3", Span(4, 10, "产品")), row_of(text, Span(0, 2, "公司"), tokens=tokens)],
        "columns",
    )
    assert path.read_text(encoding="utf-8") == (
        "青\tO\n禾\tO\n发\tO\n布\tO\nNova\tB-产品\n3\tI-产品\n\n青禾\tB-公司\n发布\tO\nNova\tO\n\n"
    )


def test_what_columns_cannot_hold_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.bio"
    given_rows = [row_of(" "), row_of("青 禾", Span(0, 3, "A"), Span(0, 1, "B")), row_of("云", tokens=((0, 1),))]
    assert write_rows(path, given_rows, "columns") == 2
    assert caplog.messages == [
        f"{path}: 1 spans that overlap a longer one were left out, 1 rows without a visible character were left out, "
        "1 texts whose blanks the columns do not keep"
    ]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write format 'brat'") as caught:
        write_rows(tmp_path / "a", [], "brat")
    assert caught.value.hint == f"these are written: {', '.join(WRITERS)}"
    with pytest.raises(DataError, match=r"type 'a\\tb' cannot stand in a column"):
        write_rows(tmp_path / "a", [row_of("青", Span(0, 1, "a\tb"))], "columns")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("file", ["cluener.json", "doccano_label.jsonl"])
def test_files_of_tools_are_written_as_they_were(tmp_path: Path, file: str) -> None:
    source = read_rows(FILES / file)
    name = recognise(FILES / file)
    write_rows(tmp_path / file, source.rows, name)
    want = [json.loads(line) for line in (FILES / file).read_text(encoding="utf-8").splitlines()]
    found = [json.loads(line) for line in (tmp_path / file).read_text(encoding="utf-8").splitlines()]
    assert found == [{"text": row["text"], "label": row["label"]} for row in want]
