"""Rows of any file as ours: the same rows under our keys, in a file of the form its name says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from pipeline.data.formats import tagging
from pipeline.data.formats.kinds import Kind, kind_of, tagging_form
from pipeline.data.formats.sentiment import (
    TARGETS,
    category_targets,
    document_examples,
    iter_sentiment_objects,
    marked_targets,
    target_entries,
)
from pipeline.data.formats.sentiment.readers import GROUP
from pipeline.data.formats.write import TABLES, form_of, write_rows
from pipeline.data.names import CATEGORY, FROM, LABEL, OCCURRENCE, POLARITY, TARGET, TEXT, TO
from pipeline.data.read import BadRowPolicy, Reading, iter_articles
from pipeline.errors import ConfigError, DataError
from pipeline.schema import Article

COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.ARTICLES: ("newsId", "title", "content", "coreEntityEmotions", "truncated"),
    Kind.TARGETS: (TEXT, TARGET, FROM, TO, OCCURRENCE, CATEGORY, POLARITY, GROUP),
    Kind.DOCUMENTS: (TEXT, LABEL, GROUP),
}


class Wanted(StrEnum):
    """What ``convert`` writes."""

    ARTICLES = "articles"
    TARGETS = "targets"
    DOCUMENTS = "documents"
    ENTITIES = "entities"
    CONLL = "conll"
    DOCCANO = "doccano"
    CLUENER = "cluener"
    SPACY = "spacy"


TAGGING_WRITERS: Mapping[Wanted, str] = {
    Wanted.CONLL: "columns",
    Wanted.DOCCANO: "doccano",
    Wanted.CLUENER: "cluener",
    Wanted.SPACY: "spacy",
}
"""What marked rows become in the formats of others, by the name of the writer."""


def convert(
    source: Path,
    target: Path,
    wanted: Wanted,
    *,
    reading: Reading | None = None,
    policy: BadRowPolicy = BadRowPolicy.STOP,
    csv_bom: bool = False,
) -> int:
    """Write the rows of a file as ours, and return how many there were.

    Raises:
        ConfigError: there is no such format or encoding, or the file cannot be written.
        DataError: the file cannot be read or is empty, a row is malformed, or its rows are of another kind.
    """
    reading = reading or Reading()
    kind = Kind.ENTITIES if wanted in TAGGING_WRITERS else Kind(wanted.value)
    if wanted in TAGGING_WRITERS and form_of(target) in TABLES:
        raise ConfigError(f"{target}: {wanted} is not written as a table", hint="give a name that ends otherwise")
    found = kind_of(source, reading)
    if found is not kind:
        raise DataError(f"{source}: holds {found} rows, not {kind}", hint=f"--to {found} writes them")
    if kind is Kind.ENTITIES:
        marked = tagging.read_rows(source, form=tagging_form(reading)).rows
        if wanted in TAGGING_WRITERS:
            return tagging.write_rows(target, marked, TAGGING_WRITERS[wanted])
        return _write_marked(target, marked, csv_bom)
    rows = {Kind.ARTICLES: _articles, Kind.TARGETS: _targets, Kind.DOCUMENTS: _documents}[kind](source, reading, policy)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{source}: the file is empty, it holds no row")

    def all_rows() -> Iterator[dict[str, Any]]:
        yield first
        yield from rows

    return write_rows(target, all_rows(), COLUMNS[kind], csv_bom=csv_bom)


def article_row(article: Article) -> dict[str, Any]:
    """Return an article as a row of ours."""
    row: dict[str, Any] = {"newsId": article.news_id}
    if article.entities is not None:
        row["coreEntityEmotions"] = [
            {"entity": entity.name, "emotion": entity.emotion.value} for entity in article.entities
        ]
    row |= {"title": article.title, "content": article.content}
    return row | {"truncated": True} if article.truncated else row


def _articles(path: Path, reading: Reading, policy: BadRowPolicy) -> Iterator[dict[str, Any]]:
    yield from map(article_row, iter_articles(path, policy=policy, reading=reading))


def _targets(path: Path, reading: Reading, policy: BadRowPolicy) -> Iterator[dict[str, Any]]:
    """Yield a row for each target; places and occurrences stay as given."""
    for number, row in iter_sentiment_objects(path, reading):
        try:
            if CATEGORY in row and TARGET not in row and TARGETS not in row:
                list(category_targets(row))  # checks the row
            else:
                list(marked_targets(row))
        except DataError as error:
            if policy is BadRowPolicy.SKIP:
                continue
            raise DataError(f"{path}:{number}: {error.message}") from error
        for entry in target_entries(row):
            whole = {TEXT: row[TEXT], **({GROUP: row[GROUP]} if GROUP in row else {}), **entry}
            yield {key: whole[key] for key in COLUMNS[Kind.TARGETS] if whole.get(key) is not None}


def _documents(path: Path, reading: Reading, policy: BadRowPolicy) -> Iterator[dict[str, Any]]:
    for number, row in iter_sentiment_objects(path, reading):
        try:
            ((_, label),) = document_examples(row)
        except DataError as error:
            if policy is BadRowPolicy.SKIP:
                continue
            raise DataError(f"{path}:{number}: {error.message}") from error
        found = {TEXT: row[TEXT], LABEL: label, GROUP: row.get(GROUP)}
        yield {key: value for key, value in found.items() if value is not None}


def _write_marked(target: Path, rows: list[tagging.TagRow], csv_bom: bool) -> int:
    """Write rows with entities; a table gets the regions of annotation tools, which readers of tables look for."""

    def ours(row: tagging.TagRow) -> dict[str, Any]:
        if form_of(target) in TABLES:
            regions = [
                {"start": start, "end": stop, "text": row.text[start:stop], "labels": [label]}
                for start, stop, label in row.spans
            ]
            return {TEXT: row.text, LABEL: regions}
        spans = [
            {"entity": row.text[start:stop], "type": label, "from": start, "to": stop}
            for start, stop, label in row.spans
        ]
        return {"text": row.text, "entities": spans}

    return write_rows(target, map(ours, rows), (TEXT, LABEL), csv_bom=csv_bom)
