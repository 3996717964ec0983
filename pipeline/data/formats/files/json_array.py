"""A JSON array of objects over any number of lines, one element in memory at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pipeline.data.formats.files.json_lines import parse_json, refuse_constant
from pipeline.data.formats.files.record import Lines, Record
from pipeline.errors import DataError

MAX_ELEMENT_CHARS = 16 * 2**20
_BLANK = " \t\r\n"
_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def begins_array(line: str) -> bool:
    """Tell a file that is one array; JSON lines that begin with a list are none of ours."""
    return line.lstrip().startswith("[")


def read_json_array(lines: Lines) -> Iterator[Record]:
    """Yield the elements of an array; after the first thing that is not JSON nothing more is read."""
    text = _Text(lines)
    try:
        yield from _elements(text)
    except DataError as error:
        yield Record(text.line, fault=error.message, hint=error.hint)


def _elements(text: _Text) -> Iterator[Record]:
    text.take("[", "a JSON array begins with [")
    if text.peek() == "]":
        text.take("]", "")
        text.end()
        return
    while True:
        text.peek()
        line = text.line
        yield Record(line, text.value())
        sign = text.peek()
        if sign == "]":
            text.take("]", "")
            text.end()
            return
        text.take(",", "want , or ] after an element of the JSON array")


class _Text:
    """The part of the file that is not decoded yet; lines are added as they are needed."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._buffer, self._at = "", 0
        self.line = 0
        """Number of the line that decoding has come to."""

    def peek(self) -> str:
        """Return the next character that is not blank; "" at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _BLANK:
                self._pass(1)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def take(self, sign: str, otherwise: str) -> None:
        if self.peek() != sign:
            raise DataError(f"not JSON: {otherwise}" if self.peek() else "not JSON: the array has no end")
        self._pass(1)

    def value(self) -> object:
        """Decode one value, with as many lines as it takes."""
        wanted = 1
        while True:
            try:
                found, stop = _DECODER.raw_decode(self._buffer, self._at)
                # A number may go on on what is not read yet; an object or a list does not.
                if stop < len(self._buffer) or self._buffer[stop - 1] in "}]" or not self._more():
                    self._pass(stop - self._at)
                    return found
            except RecursionError as error:
                raise DataError("nested too deeply to be read") from error
            except ValueError as error:
                if len(self._buffer) - self._at > MAX_ELEMENT_CHARS:
                    raise DataError(f"an element is longer than {MAX_ELEMENT_CHARS:,} characters") from error
                n_more = 0
                while n_more < wanted and self._more():
                    n_more += 1
                if not n_more:
                    parse_json(self._buffer[self._at :])
                    raise DataError("not JSON: the array has no end") from error
                wanted *= 2  # so that decoding again and again stays linear

    def end(self) -> None:
        if self.peek():
            raise DataError("not JSON: something follows the array")

    def _pass(self, count: int) -> None:
        self.line += self._buffer.count("\n", self._at, self._at + count)
        self._at += count

    def _more(self) -> bool:
        line = next(self._lines, None)
        if line is None:
            return False
        if line.fault:
            self.line = line.number
            raise DataError(line.fault, hint=line.hint)
        if not self.line:
            self.line = line.number
        self._buffer = f"{self._buffer[self._at :]}{line.text}\n"
        self._at = 0
        return True
