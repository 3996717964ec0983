"""Every format of tagging rows; one line makes a new one known to all commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.data.formats.tagging.brat import is_brat, iter_brat_rows
from pipeline.data.formats.tagging.cluener import is_cluener, parse_cluener
from pipeline.data.formats.tagging.columns import iter_column_rows, looks_like_columns
from pipeline.data.formats.tagging.doccano import is_doccano, parse_doccano
from pipeline.data.formats.tagging.labelstudio import is_label_studio, parse_label_studio
from pipeline.data.formats.tagging.marked import Reader, json_reader
from pipeline.data.formats.tagging.markup import refuse_markup
from pipeline.data.formats.tagging.readers import (
    ENTITIES,
    TEXT,
    TOKENS,
    is_entities,
    is_tokens,
    iter_entity_rows,
    iter_text_rows,
    iter_token_rows,
)
from pipeline.data.formats.tagging.source import decoded_lines, iter_values
from pipeline.data.formats.tagging.spacy_json import is_spacy, parse_spacy
from pipeline.data.formats.tagging.table import is_header, iter_table_rows
from pipeline.errors import DataError
from pipeline.registry import unknown_name

N_LOOKED_AT = 50
"""Rows of JSON by which their format is told: the first may have no span."""


@dataclass(frozen=True, slots=True)
class TagFormat:
    """A format of rows."""

    whose: str
    """Ends the line "rows are ..."."""
    read: Reader
    begins: Callable[[object], bool] = lambda value: False
    """Tells it by a value of a JSON file."""
    is_ours: bool = False
    """Needs no word."""


FORMATS: Mapping[str, TagFormat] = {
    "spacy": TagFormat("spaCy's", json_reader(parse_spacy), is_spacy),
    "labelstudio": TagFormat("Label Studio's", json_reader(parse_label_studio), is_label_studio),
    "cluener": TagFormat("CLUENER's", json_reader(parse_cluener), is_cluener),
    "doccano": TagFormat("doccano's", json_reader(parse_doccano), is_doccano),
    "tokens": TagFormat("tokens and tags", iter_token_rows, is_tokens, is_ours=True),
    "entities": TagFormat("texts and entities", iter_entity_rows, is_entities, is_ours=True),
    "columns": TagFormat("columns", iter_column_rows),
    "table": TagFormat("a table's", iter_table_rows),
    "brat": TagFormat("brat's", iter_brat_rows),
    "text": TagFormat("plain text", iter_text_rows, is_ours=True),
}
"""By the name that ``--format`` takes; rows of JSON are tried in this order."""

_TABLES, _TABS = (".csv",), (".tsv", ".tab")
_ARRAY = re.compile(r"\s*\[\s*($|[{\[\"]|\]\s*$)")
"""The first line of a JSON array; texts may begin with a bracket too."""


def format_named(name: str) -> TagFormat:
    """Return a format.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    return FORMATS[name]


def recognise(path: Path, encoding: str | None = None, columns: Mapping[str, str] | None = None) -> str:
    """Return the name of a file's format, by its own name or what it holds.

    Raises:
        ConfigError: there is no such encoding.
        DataError: the file cannot be read or is empty, or is none of these formats.
    """
    if is_brat(path):
        return "brat"
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_TABLES):
        return "table"
    found = next(((number, line) for number, line in decoded_lines(path, encoding) if line.strip()), None)
    if found is None:
        raise DataError(f"{path}: the file is empty, it holds no row")
    number, line = found
    if looks_like_columns(path, encoding):  # before JSON: the first token may be a bracket
        return "columns"
    if line.lstrip().startswith("{") or _ARRAY.match(line):
        return _of_json(path, encoding, columns)
    if is_header(line, columns):
        return "table"
    if name.endswith(_TABS):
        return "table"
    refuse_markup(path, number, line.encode("utf-8", "surrogatepass"))
    return "text"


def _of_json(path: Path, encoding: str | None, columns: Mapping[str, str] | None) -> str:
    """Tell the format by the first rows that show one."""
    first: tuple[int, Any] | None = None
    for number, value in islice(iter_values(path, encoding, columns), N_LOOKED_AT):
        first = first or (number, value)
        for name, known in FORMATS.items():
            if known.begins(value):
                return name
    if first is None:
        raise DataError(f"{path}: the file is empty, it holds no row")
    number, value = first
    keys = set(value) if isinstance(value, dict) else set()
    if TOKENS in keys:
        return "tokens"
    if TEXT in keys:
        has_labels = any(isinstance(value.get(key), list) for key in ("label", "labels"))
        return "doccano" if has_labels and ENTITIES not in keys else "entities"
    have = f" (have: {', '.join(value)})" if isinstance(value, dict) else ""
    hint = f"rows with newsId, title and content are articles: tag wants {TEXT}" if "content" in keys else None
    raise DataError(f"{path}:{number}: has neither {TEXT} nor {TOKENS}{have}", hint=hint)
