"""Writing rows in a format of choice, whatever they were read from."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.artifacts import atomic_writer
from pipeline.data.formats.tagging.notation import Notation
from pipeline.data.formats.tagging.row import Range, TagRow
from pipeline.data.formats.tagging.tokens import is_of_word, join_tokens
from pipeline.errors import ConfigError, DataError
from pipeline.text.spans import Span, choose_spans

logger = logging.getLogger(__name__)

Write = Callable[[TagRow, Counter[str]], str]
"""Returns what stands in the file for a row ("": nothing), and counts what the format cannot hold."""


def write_rows(path: Path, rows: Iterable[TagRow], format_name: str) -> int:
    """Write rows with their spans; return how many. What the format cannot hold is counted in a warning.

    Args:
        path: ``.gz`` is packed.
        rows: as ``read_rows`` gives them.
        format_name: a name of ``WRITERS``.

    Raises:
        ConfigError: there is no such writer, or the path cannot be written.
        DataError: a type cannot be written in this format.
    """
    lost, n_rows = Counter[str](), 0
    parts = written_rows(rows, format_name, lost)
    with atomic_writer(path) as file:
        for part in parts:
            file.write(part)
            n_rows += 1
    if told := ", ".join(f"{count} {name}" for name, count in lost.items() if count):
        logger.warning("%s: %s", path, told)
    return n_rows


def written_rows(rows: Iterable[TagRow], format_name: str, lost: Counter[str]) -> Iterator[str]:
    """Return what stands in a file for each row that the format can hold, with its line ends.

    Args:
        rows: as ``read_rows`` gives them.
        format_name: a name of ``WRITERS``.
        lost: counts what the format cannot hold, in words for a message.

    Raises:
        ConfigError: there is no such writer.
        DataError: a type cannot be written in this format.
    """
    if format_name not in WRITERS:
        raise ConfigError(f"cannot write format {format_name!r}", hint=f"these are written: {', '.join(WRITERS)}")
    write = WRITERS[format_name]
    return (part for row in rows if (part := write(row, lost)))


def _entities(row: TagRow, lost: Counter[str]) -> str:
    entities = [
        {"entity": row.text[start:stop], "type": label, "from": start, "to": stop} for start, stop, label in row.spans
    ]
    return _line({"text": row.text, "entities": entities})


def _doccano(row: TagRow, lost: Counter[str]) -> str:
    return _line({"text": row.text, "label": [list(span) for span in row.spans]})


def _spacy(row: TagRow, lost: Counter[str]) -> str:
    return _line([row.text, {"entities": [list(span) for span in row.spans]}])


def _cluener(row: TagRow, lost: Counter[str]) -> str:
    label: dict[str, dict[str, list[list[int]]]] = {}
    for start, stop, kind in row.spans:
        label.setdefault(kind, {}).setdefault(row.text[start:stop], []).append([start, stop - 1])
    return _line({"text": row.text, "label": label})


def _columns(row: TagRow, lost: Counter[str]) -> str:
    """Write BIO: a token a line; a text without tokens becomes characters, and words of Latin letters."""
    kept, beaten = choose_spans(row.spans)
    lost["spans that overlap a longer one were left out"] += len(beaten)
    tokens = row.tokens or _tokens(row.text, kept)
    if not tokens:
        lost["rows without a visible character were left out"] += 1
        return ""
    notation = Notation()
    within = [_trimmed(row.text, span) for span in kept]
    placed = notation.to_tokens(within, tokens)
    lost["spans that begin or end inside a token were left out"] += len(kept) - len(placed)
    forms = [row.text[start:stop] for start, stop in tokens]
    if join_tokens(forms)[0] != row.text:
        lost["texts whose blanks the columns do not keep"] += 1
    for label in {span.label for span in placed}:
        if label != " ".join(label.split(" ")) or any(mark in label for mark in "\t\r\n") or label != label.strip():
            raise DataError(f"type {label!r} cannot stand in a column")
    tags = notation.tags(placed, len(tokens))
    return "".join(f"{form}\t{tag}\n" for form, tag in zip(forms, tags, strict=True)) + "\n"


WRITERS: Mapping[str, Write] = {
    "entities": _entities,
    "doccano": _doccano,
    "cluener": _cluener,
    "spacy": _spacy,
    "columns": _columns,
}
"""By the name of the format."""


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _tokens(text: str, spans: Sequence[Span]) -> list[Range]:
    """Cut a text into characters and words of Latin letters or digits, and wherever a span begins or ends."""
    edges = {place for start, stop, _ in spans for place in (start, stop)}
    tokens: list[Range] = []
    for place, char in enumerate(text):
        if _is_blank(char):
            continue
        goes_on = tokens and tokens[-1][1] == place and place not in edges and is_of_word(char)
        if goes_on and is_of_word(text[place - 1]):
            tokens[-1] = (tokens[-1][0], place + 1)
        else:
            tokens.append((place, place + 1))
    return tokens


def _trimmed(text: str, span: Span) -> Span:
    start, stop, label = span
    while start < stop and _is_blank(text[start]):
        start += 1
    while start < stop and _is_blank(text[stop - 1]):
        stop -= 1
    return Span(start, stop, label)


def _is_blank(char: str) -> bool:
    """Tell what cannot be a token in columns: blanks, ends of lines, and the mark that begins a file."""
    return char.isspace() or char == "\ufeff"
