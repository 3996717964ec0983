"""Lines and JSON values of a file, in any encoding; errors name file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from pipeline.data.formats.files.json_array import begins_array, read_json_array
from pipeline.data.formats.files.json_lines import parse_json, read_json_lines, refuse_constant
from pipeline.data.formats.files.record import Lines, Record
from pipeline.data.lines import MAX_LINE_BYTES, iter_lines, iter_text
from pipeline.data.reading import renamed, require_columns
from pipeline.errors import DataError
from pipeline.text.encodings import likely_encoding

MAX_STREAM_CHARS = 2**28
"""Of JSON objects over several lines, which are held in memory."""
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


@contextmanager
def located(path: Path, line: int | None = None) -> Iterator[None]:
    """Put file and line before the message of a DataError."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}{f':{line}' if line else ''}: {error.message}", hint=error.hint) from error


def decoded_lines(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield numbered lines with their ends.

    Raises:
        ConfigError: there is no such encoding.
        DataError: as ``iter_lines``, or a line is too long or not UTF-8.
    """
    for number, line in iter_lines(path, encoding):
        if line is None:
            raise DataError(f"{path}:{number}: the line is longer than {MAX_LINE_BYTES:,} bytes")
        try:
            text = line.decode("utf-8", "surrogatepass" if encoding else "strict")
        except UnicodeDecodeError as error:
            likely = likely_encoding(line)
            raise DataError(
                f"{path}:{number}: not UTF-8: byte {error.start + 1} of the line",
                hint=f"the line looks like {likely.upper()}: --encoding {likely} reads the file so" if likely else None,
            ) from error
        yield number, text


def iter_values(
    path: Path, encoding: str | None = None, columns: Mapping[str, str] | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON lines, of one array, or of objects over several lines, with the lines they begin on.

    Args:
        path: plain or gzip.
        encoding: as of ``iter_text``.
        columns: the file's names of keys by ours; objects are yielded under our names.

    Raises:
        ConfigError: there is no such encoding.
        DataError: the file cannot be read, something in it is not JSON, or the first object lacks a key of ``columns``.
    """
    lines = iter_text(path, encoding)
    first = next((line for line in lines if line.fault or line.text.strip()), None)
    if first is None:
        return
    read = read_json_lines
    if begins_array(first.text) and not is_pair(_parsed(first.text)):
        read = read_json_array
    elif _is_open(first.text):
        read = _read_stream
    is_first = True
    for record in read(chain([first], lines)):
        if record.fault:
            raise DataError(f"{path}:{record.line}: {record.fault}", hint=record.hint)
        value = record.value
        if columns and isinstance(value, dict):
            if is_first:
                require_columns(f"{path}:{record.line}", value, columns)
                is_first = False
            value = renamed(value, columns)
        yield record.line, value


def is_pair(value: object) -> bool:
    """Tell a text with its annotations in one list."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def _parsed(text: str) -> object:
    try:
        return parse_json(text)
    except DataError:
        return None


def _is_open(text: str) -> bool:
    """Tell a line that is the beginning of an object, and goes on on the next line."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text.rstrip()) and text.lstrip().startswith("{")
    except (ValueError, RecursionError):
        pass
    return False


def _read_stream(lines: Lines) -> Iterator[Record]:
    """Yield objects that stand one after the other, over any number of lines."""
    parts: list[str] = []
    size = first = 0
    for line in lines:
        first = first or line.number
        size += len(line.text) + 1
        fault = line.fault or ("" if size <= MAX_STREAM_CHARS else f"more than {MAX_STREAM_CHARS:,} characters of JSON")
        if fault:
            yield Record(line.number, fault=fault, hint=line.hint)
            return
        parts.append(f"{line.text}\n")
    text = "".join(parts)
    at, number = 0, first
    while blank := _BLANK.match(text, at):
        number += text.count("\n", at, blank.end())
        at = blank.end()
        if at == len(text):
            return
        try:
            value, stop = _DECODER.raw_decode(text, at)
        except RecursionError:
            yield Record(number, fault="nested too deeply to be read")
            return
        except ValueError as error:
            if isinstance(error, json.JSONDecodeError):
                number += text.count("\n", at, error.pos)
            yield Record(number, fault=f"not JSON: {getattr(error, 'msg', error)}")
            return
        yield Record(number, value)
        number += text.count("\n", at, stop)
        at = stop
