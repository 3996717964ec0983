"""Rows of ours written in every form and read back; other people's rows converted to the right values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.artifacts import plain_cell, safe_cell
from pipeline.data.formats.convert import COLUMNS, Wanted, article_row, convert
from pipeline.data.formats.kinds import Kind, kind_of
from pipeline.data.formats.sentiment import iter_sentiment_objects
from pipeline.data.formats.write import write_rows
from pipeline.data.read import iter_articles
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, Article, Entity
from tests.support.paths import FILES

FORMS = ("rows.jsonl", "rows.json", "rows.csv", "rows.tsv", "rows.jsonl.gz", "rows.csv.gz")
# A byte order mark at the beginning of a line is dropped wherever it stands: files with one may have been joined.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=12)
solid = st.text(st.sampled_from("=+-@'\",;\t青禾a1 \r\n"), max_size=6).map(lambda text: f"{text}青")
names = st.lists(solid.map(str.strip), max_size=3, unique=True)


@st.composite
def articles(draw: st.DrawFn) -> Article:
    entities = draw(st.none() | names)
    return Article(
        f"{draw(st.sampled_from('=-+a0'))}{draw(st.integers(0, 10**6))}",
        draw(texts | solid),
        draw(texts | solid),
        None if entities is None else tuple(Entity(name, draw(st.sampled_from(EMOTIONS))) for name in entities),
        truncated=draw(st.booleans()),
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(articles(), min_size=1, max_size=4), name=st.sampled_from(FORMS), bom=st.booleans())
def test_articles_come_back_as_they_were(tmp_path: Path, rows: list[Article], name: str, bom: bool) -> None:
    path = tmp_path / name
    write_rows(path, map(article_row, rows), COLUMNS[Kind.ARTICLES], csv_bom=bom)
    assert list(iter_articles(path)) == rows
    assert convert(path, tmp_path / "again.csv", Wanted.ARTICLES) == len(rows)
    assert list(iter_articles(tmp_path / "again.csv")) == rows


@st.composite
def targets(draw: st.DrawFn) -> dict[str, object]:
    before, name, after = draw(texts), draw(solid).strip(), draw(texts)
    row: dict[str, object] = {"text": f"{before}{name}{after}", "target": name}
    if draw(st.booleans()):
        row |= {"from": len(before), "to": len(before) + len(name)}
    return row | {"polarity": draw(st.sampled_from(EMOTIONS)).value}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(targets(), min_size=1, max_size=4), name=st.sampled_from(FORMS))
def test_target_rows_come_back_as_they_were(tmp_path: Path, rows: list[dict[str, object]], name: str) -> None:
    path = tmp_path / name
    write_rows(path, rows, COLUMNS[Kind.TARGETS])
    assert convert(path, tmp_path / "again.jsonl", Wanted.TARGETS) == len(rows)
    assert [row for _, row in iter_sentiment_objects(tmp_path / "again.jsonl")] == rows


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(solid, st.sampled_from("ab甲")), min_size=1, max_size=4), name=st.sampled_from(FORMS))
def test_document_rows_come_back_as_they_were(tmp_path: Path, rows: list[tuple[str, str]], name: str) -> None:
    path, objects = tmp_path / name, [{"text": text, "label": label} for text, label in rows]
    write_rows(path, objects, COLUMNS[Kind.DOCUMENTS])
    assert convert(path, tmp_path / "again.jsonl", Wanted.DOCUMENTS) == len(rows)
    assert [row for _, row in iter_sentiment_objects(tmp_path / "again.jsonl")] == objects


@given(st.text(st.sampled_from("'=+-@\t\r1.a"), max_size=6))
def test_a_cell_comes_back_and_is_no_formula(text: str) -> None:
    cell = safe_cell(text)
    assert plain_cell(cell) == text
    is_number = text.lstrip("+-").replace(".", "", 1).isdecimal()
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or is_number


def test_marked_entities_become_columns_and_rows(tmp_path: Path) -> None:
    source, target = tmp_path / "rows.jsonl", tmp_path / "rows.bio"
    row = {"text": "青禾 好", "entities": [{"entity": "青禾", "type": "ORG", "from": 0, "to": 2}]}
    source.write_text(json.dumps(row), encoding="utf-8")
    assert convert(source, target, Wanted.CONLL) == 1
    assert target.read_text(encoding="utf-8") == "青\tB-ORG\n禾\tI-ORG\n好\tO\n\n"
    assert convert(source, tmp_path / "again.jsonl", Wanted.ENTITIES) == 1
    assert json.loads((tmp_path / "again.jsonl").read_text(encoding="utf-8")) == row


def test_rows_of_another_kind_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sent_neu\.jsonl: holds targets rows, not documents") as caught:
        convert(FILES / "inputs" / "sent_neu.jsonl", tmp_path / "rows", Wanted.DOCUMENTS)
    assert caught.value.hint == "--to targets writes them"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"newsId": "a", "title": "甲"}, Kind.ARTICLES),
        ({"id": "a", "title": "甲", "text": "乙"}, Kind.ARTICLES),
        ({"text": "甲", "label": 1}, Kind.DOCUMENTS),
        ({"句子": "甲", "标签": "正面"}, Kind.DOCUMENTS),
        ({"text": "甲", "aspect": "甲", "label": 1}, Kind.TARGETS),
        ({"text": "甲", "targets": []}, Kind.TARGETS),
        ({"text": "甲", "category": "价格", "polarity": "POS"}, Kind.TARGETS),
        ({"text": "甲", "entities": []}, Kind.ENTITIES),
        ({"tokens": ["甲"], "tags": ["O"]}, Kind.ENTITIES),
        ({"text": "甲", "label": [[0, 1, "ORG"]]}, Kind.ENTITIES),
        ({"text": "甲", "label": '[{"start": 0}]'}, Kind.ENTITIES),
    ],
)
def test_kinds_of_rows(tmp_path: Path, row: dict[str, object], kind: Kind) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    assert kind_of(path) is kind
