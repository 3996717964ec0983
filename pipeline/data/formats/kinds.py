"""What the rows of a file are: articles, or texts with targets, labels or marked entities."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from pathlib import Path

from pipeline.artifacts import AnyFile
from pipeline.data.formats import tagging
from pipeline.data.formats.registry import FORMATS, iter_records
from pipeline.data.formats.tagging.brat import is_brat
from pipeline.data.formats.tagging.columns import looks_like_columns
from pipeline.data.formats.tagging.source import iter_values
from pipeline.data.names import (
    CATEGORY,
    LABEL,
    NEWS_ID,
    POLARITY,
    TARGET,
    TEXT,
    TITLE,
    alias_in,
)
from pipeline.data.reading import Reading
from pipeline.errors import DataError
from pipeline.registry import unknown_name

_MARKED, _TARGETS = ("entities", "tokens", "annotations"), "targets"
N_LOOKED_AT = 50
"""Rows: the first of an annotation tool may have no span."""


class Kind(StrEnum):
    """A kind of rows; the value is what ``convert --to`` calls it."""

    ARTICLES = "articles"
    """newsId, title, content; coreEntityEmotions where they are labelled."""
    TARGETS = "targets"
    """text, target, polarity; also text, category, polarity."""
    DOCUMENTS = "documents"
    """text, label."""
    ENTITIES = "entities"
    """Texts with marked spans, as ``tag`` reads them."""


def kind_of(path: AnyFile, reading: Reading | None = None) -> Kind:
    """Recognise what the rows of a file are by the first that show it; where nothing else is known, articles are meant.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read.
    """
    reading = reading or Reading()
    if reading.format in tagging.FORMATS or (isinstance(path, Path) and is_brat(path)):
        return Kind.ENTITIES
    for number, record in enumerate(islice(iter_records(path, reading, is_told=False), N_LOOKED_AT)):
        if record.fault and number == 0:
            if not _is_json(record.fault):
                return Kind.ENTITIES
            break
        if kind := _shown_kind(record.value):
            return kind
    if reading.format is None and isinstance(path, Path) and _is_marked(path, reading.encoding):
        return Kind.ENTITIES
    return Kind.ARTICLES


def check_format(name: str) -> None:
    """Check the name of a format of any kind of rows.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in FORMATS and name not in tagging.FORMATS:
        raise unknown_name("format", name, {**FORMATS, **tagging.FORMATS})


def tagging_form(reading: Reading) -> tagging.Form:
    """Return what is said of a file of marked rows; only formats of theirs count, and no meanings of emotions."""
    name = reading.format if reading.format in tagging.FORMATS else None
    return tagging.Form(format=name, encoding=reading.encoding, columns=reading.columns)


def _shown_kind(row: object) -> Kind | None:
    """Recognise what a row is by its keys; None: they show nothing."""
    if any(known.begins(row) for known in tagging.FORMATS.values()):
        return Kind.ENTITIES
    if not isinstance(row, dict):
        return None
    if any(isinstance(row.get(key), list) for key in _MARKED):
        return Kind.ENTITIES
    if isinstance(row.get(LABEL), list | dict) or str(row.get(LABEL) or "").startswith(("[", "{")):
        return Kind.ENTITIES  # of annotation tools
    if NEWS_ID in row or (TITLE in row and not any(key in row for key in (TARGET, LABEL, POLARITY))):
        return Kind.ARTICLES
    if any(key in row for key in (TARGET, _TARGETS, CATEGORY)):
        return Kind.TARGETS
    has_text = TEXT in row or alias_in(row, TEXT) is not None
    if has_text and alias_in(row, TARGET) is not None:
        return Kind.TARGETS
    if has_text and (LABEL in row or alias_in(row, LABEL) is not None):
        return Kind.DOCUMENTS
    return None


def _is_marked(path: Path, encoding: str | None) -> bool:
    """Tell columns, and objects over several lines, which no other kind of rows is kept in."""
    try:
        values = islice(iter_values(path, encoding), N_LOOKED_AT)
        return looks_like_columns(path, encoding) or any(_shown_kind(row) is Kind.ENTITIES for _, row in values)
    except DataError:
        return False


def _is_json(fault: str) -> bool:
    """Tell whether a first row that is no object was meant as one, or as a table."""
    return not fault.startswith("not JSON: Expecting value at character 1")
