"""CoNLL columns: a token a line, its tag in the last column, a blank line between rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from pipeline.data.formats.tagging.conventions import SPELLINGS
from pipeline.data.formats.tagging.form import Form, Notes
from pipeline.data.formats.tagging.row import RowKind, TagRow
from pipeline.data.formats.tagging.source import decoded_lines, located
from pipeline.data.formats.tagging.tokens import join_tokens
from pipeline.errors import DataError
from pipeline.text.spans import OUTSIDE

logger = logging.getLogger(__name__)

SUFFIXES = (".conll", ".conll03", ".bio", ".bmes", ".bioes", ".iob", ".iob2")
"""Of names of files in columns, whatever their tags look like."""
N_LOOKED_AT = 50
"""Lines by which columns are told from plain text."""
FIELDS, COMMENTS, SEPARATOR = "fields", "comments", "separator"
"""Keys of a row's source."""
_DOCUMENT = "-DOCSTART-"


def looks_like_columns(path: Path, encoding: str | None = None) -> bool:
    """Tell whether each of a file's first lines is a token and a tag with a letter: "赵 B-PER".

    Plain text of that form is hardly met; tags without letters, as parts of speech, cannot be told from words.

    Raises:
        DataError: the file cannot be read.
    """
    if path.name.lower().removesuffix(".gz").endswith(SUFFIXES):
        return True
    whole = (line for _, line in decoded_lines(path, encoding) if line.strip() and line.endswith("\n"))
    fields = [_split(line) for line in islice(whole, N_LOOKED_AT)]
    fields = [row for row in fields if not _is_comment(row, 2) and row[0] != _DOCUMENT]
    if not fields or any(len(row) != len(fields[0]) for row in fields) or len(fields[0]) < 2:
        return False
    return all(_is_spelt(row[-1]) for row in fields)


def iter_column_rows(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
    """Yield the rows of a file in columns; ``#`` lines before a row are comments and are kept.

    Args:
        path: blank or tab between columns.
        form: of which the encoding matters.
        labelled: read the last column as tags; otherwise rows may have one column.
        notes: nothing is noted.

    Raises:
        DataError: as ``decoded_lines``, or a line has another number of columns than the first; a file that ends
            within a line loses its last row, with a warning.
    """
    fields: list[list[str]] = []
    comments: list[str] = []
    separator, n_columns, first = " ", 0, 0
    for number, line in chain(decoded_lines(path, form.encoding), [(0, "")]):
        row = _split(line)
        if not row or row[0] == _DOCUMENT:
            if fields:
                yield _row(first, fields, comments, separator, labelled=labelled)
                fields, comments = [], []
            continue
        if not fields and _is_comment(row, n_columns or 2):
            comments.append(line.rstrip("\r\n"))
            continue
        n_columns = n_columns or len(row)
        separator = "\t" if "\t" in line else separator
        if len(row) < n_columns and not line.endswith("\n"):
            logger.warning("%s:%d: the file is cut off within this line; the row is left out", path, number)
            return
        with located(path, number):
            if len(row) != n_columns:
                raise DataError(f"{len(row)} columns, the first row has {n_columns}")
            if labelled and n_columns < 2:
                raise DataError("one column, want a token and its tag")
        if not fields:
            first = number
        fields.append(row)


def _row(line: int, fields: Sequence[list[str]], comments: Sequence[str], separator: str, *, labelled: bool) -> TagRow:
    text, places = join_tokens(row[0] for row in fields)
    source = {FIELDS: list(fields), COMMENTS: list(comments), SEPARATOR: separator}
    tags = tuple(row[-1] for row in fields) if labelled else ()
    return TagRow(RowKind.COLUMNS, line, source, text, tokens=places, tags=tags)


def written_columns(row: TagRow, tags: Sequence[str]) -> str:
    """Return a row with other tags in its last column, and the blank line after it."""
    lines = list(row.source[COMMENTS])
    for fields, tag in zip(row.source[FIELDS], tags, strict=True):
        lines.append(row.source[SEPARATOR].join([*(fields[:-1] if len(fields) > 1 else fields), tag]))
    return "\n".join([*lines, "", ""])


def _split(line: str) -> list[str]:
    """Split at tabs where there are some, otherwise at blanks; empty for a blank line."""
    line = line.strip()
    if not line:
        return []
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else re.split(r"[ \u3000]+", line)


def _is_comment(row: Sequence[str], n_columns: int) -> bool:
    """Tell whether a line is a comment: it begins with ``#`` and is not the token "#" with its tag."""
    return row[0].startswith("#") and not (row[0] == "#" and len(row) == n_columns and _is_spelt(row[-1]))


def _is_spelt(tag: str) -> bool:
    return tag.upper() == OUTSIDE or any(spelling.pattern.fullmatch(tag) for spelling in SPELLINGS)
