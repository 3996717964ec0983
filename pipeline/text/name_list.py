"""Files of names: one a line, or the first column of what jieba, HanLP or a spreadsheet keep."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pipeline.artifacts import BoundedGzip, open_input
from pipeline.errors import DataError
from pipeline.text.encodings import BOM, UTF_8, likely_encoding, recognise, wide_encoding

MAX_LINE_BYTES = 4096
"""Longest dictionary line; a longer one means that the file is not a list of names."""
SAMPLE_BYTES = 2**16
"""Read before encoding and layout are settled."""

_MOST = 0.9
_JIEBA = re.compile(r"(?P<name>\S.*?)\s+(?P<freq>\d+)(?:\s+(?P<tag>[a-z]{1,8}))?")
_HEADERS = frozenset({"name", "names", "word", "words", "entity", "term", "名称", "名字", "词", "词语", "实体", "词条"})


class Layout(StrEnum):
    """How a line holds a name."""

    LINES = "one name a line"
    JIEBA = "jieba: name, frequency, tag"
    TABS = "tabs (HanLP): the first column"
    CSV = "CSV: the first column"


class Name(NamedTuple):
    """A name as the file has it."""

    line: int
    text: str


def iter_names(path: Path) -> Iterator[Name]:
    """Yield the names of a file with their lines; comments (``#``) and the header of a table are none.

    Raises:
        DataError: the file is missing, its encoding is not recognised, or it is no list of short lines.
    """
    lines = _raw_lines(path)
    held = list(_sample(lines))
    encoding = recognise([line for _, line in held])
    layout = layout_of(path, [line.decode(encoding, "replace") for _, line in held])
    is_first = True
    for number, raw in chain(held, lines):
        text = _decoded(path, number, raw, encoding).strip()
        if not text or text.startswith("#"):
            continue
        name = _name(text, layout)
        if is_first and layout in (Layout.CSV, Layout.TABS) and name.lower() in _HEADERS:
            is_first = False
            continue
        is_first = False
        yield Name(number, name)


def layout_of(path: Path, lines: Sequence[str]) -> Layout:
    """Recognise the layout: by the end of the name (.csv, .tsv), or because nine lines in ten have its form.

    A frequency alone, as in "nova 2", makes a jieba file only where tags follow, or where no name has a Latin letter.
    """
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return Layout.CSV
    rows = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if name.endswith(".tsv") or _share("\t" in row for row in rows) >= _MOST:
        return Layout.TABS
    found = [match for row in rows if (match := _JIEBA.fullmatch(row))]
    if rows and len(found) >= _MOST * len(rows):
        tagged = _share(bool(match["tag"]) for match in found) >= _MOST
        if tagged or not any(char.isascii() and char.isalpha() for match in found for char in match["name"]):
            return Layout.JIEBA
    return Layout.LINES


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return sum(found) / len(found) if found else 0.0


def _name(text: str, layout: Layout) -> str:
    if layout is Layout.TABS:
        return text.partition("\t")[0].strip()
    if layout is Layout.CSV:
        try:
            return next(iter(next(csv.reader([text]), [])), "").strip()
        except csv.Error:  # a carriage return inside
            return text
    match = _JIEBA.fullmatch(text) if layout is Layout.JIEBA else None
    return match["name"] if match else text


def _sample(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    size = 0
    for number, line in lines:
        yield number, line
        size += len(line)
        if size >= SAMPLE_BYTES:
            return


def _decoded(path: Path, number: int, raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        likely = likely_encoding(raw) if encoding == UTF_8 else None
        hint = f"the line looks like {likely.upper()}, others do not: save the file as UTF-8" if likely else None
        raise DataError(f"{path}:{number}: not {encoding.upper()} at byte {error.start}", hint=hint) from error


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(open_input(path))
            stream = stack.enter_context(BoundedGzip(path, raw)) if path.suffix == ".gz" else raw
            if wide := wide_encoding(bytes(stream.peek(4)[:4])):
                yield from _wide_lines(path, stream.read(), wide)
                return
            for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(line) > MAX_LINE_BYTES:
                    raise DataError(f"{path}:{number}: line of over {MAX_LINE_BYTES} bytes, want one name per line")
                yield number, line.removeprefix(BOM)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such dictionary file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _wide_lines(path: Path, content: bytes, encoding: str) -> Iterator[tuple[int, bytes]]:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not {encoding.upper()} at byte {error.start}") from error
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        yield number, line.encode("utf-8", "surrogatepass")
