"""What the rows of a file are: articles, or texts with targets, labels or marked entities."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pipeline.artifacts import AnyFile
from pipeline.data.formats.registry import iter_records
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

_MARKED, _TARGETS = ("entities", "tokens", "annotations"), "targets"


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
    """Recognise what the rows of a file are by the first one; where nothing else is known, articles are meant.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read.
    """
    first = next(iter_records(path, reading), None)
    if first is None:
        return Kind.ARTICLES
    if not isinstance(first.value, dict):
        return Kind.ARTICLES if _is_json(first.fault) else Kind.ENTITIES
    return kind_of_row(first.value)


def kind_of_row(row: Mapping[str, Any]) -> Kind:
    """Recognise what a row is by its keys."""
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
    return Kind.ARTICLES


def _is_json(fault: str) -> bool:
    """Tell whether a first row that is no object was meant as one, or as a table."""
    return not fault.startswith("not JSON: Expecting value at character 1")
