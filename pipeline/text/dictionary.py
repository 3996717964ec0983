"""Entity dictionaries matched in one pass over a text (Aho-Corasick)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import ahocorasick

from pipeline.artifacts import BoundedGzip, open_input
from pipeline.errors import DataError
from pipeline.text import match_key

MAX_LINE_BYTES = 4096
"""Longest dictionary line; a longer one means that the file is not a list of names."""

MAX_NAMES = 20_000_000
"""The automaton takes some hundred bytes for each."""


def has_word_boundaries(text: str, start: int, stop: int) -> bool:
    """Tell whether ``[start, stop)`` cuts no run of Latin letters and digits at either edge."""
    return not (
        (start > 0 and _is_latin(text[start]) and _is_latin(text[start - 1]))
        or (stop < len(text) and _is_latin(text[stop - 1]) and _is_latin(text[stop]))
    )


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


_LATIN_RUN = re.compile(r"[a-zA-Z0-9]{2,}")


class Matcher:
    """All occurrences of a fixed set of normalised names, overlapping ones included."""

    def __init__(self, names: Iterable[str]) -> None:
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        for name in names:
            self._automaton.add_word(name, len(name))
        self._is_empty = len(self._automaton) == 0
        if not self._is_empty:
            self._automaton.make_automaton()

    def __contains__(self, name: str) -> bool:
        return name in self._automaton

    def __len__(self) -> int:
        return len(self._automaton)

    def find_anywhere(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the half-open span of every name in a normalised text, by its end, inside Latin runs too."""
        if not self._is_empty:
            for last, length in self._automaton.iter(text):
                yield last + 1 - length, last + 1

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the half-open span of every name in a normalised text, by its end.

        A name that begins or ends with a Latin letter or digit does not match inside a longer Latin run.
        """
        if self._is_empty:
            return
        runs = (run.span() for run in _LATIN_RUN.finditer(text))  # has_word_boundaries, once for the whole text
        inside = {position for start, stop in runs for position in range(start + 1, stop)}
        for last, length in self._automaton.iter(text):
            start, stop = last + 1 - length, last + 1
            if start not in inside and stop not in inside:
                yield start, stop


def read_dictionary(path: Path, *, min_chars: int = 2, max_chars: int = 20) -> list[str]:
    """Read a list of names, one per line, plain or gzip, as sorted distinct match keys.

    BOM, CRLF and blank lines are accepted. Names shorter or longer than the bounds are left out.

    Raises:
        DataError: the file is missing, not UTF-8, not a list of short lines, or holds no name.
    """
    keys: set[str] = set()
    for number, name in _names(path):
        key = match_key(name)
        if _is_kept(key, min_chars, max_chars):
            keys.add(key)
            if len(keys) > MAX_NAMES:
                raise DataError(f"{path}:{number}: more than {MAX_NAMES:,} names, which memory may not hold")
    if not keys:
        raise DataError(f"{path}: holds no name of {min_chars} to {max_chars} characters")
    return sorted(keys)


def check_dictionary(path: Path, *, min_chars: int = 2, max_chars: int = 20) -> None:
    """Find what would stop ``read_dictionary`` in a small part of its time: no more keys are made than one.

    Raises:
        DataError: see there.
    """
    names = _names(path)
    if not any(_is_kept(match_key(name), min_chars, max_chars) for _, name in names):
        raise DataError(f"{path}: holds no name of {min_chars} to {max_chars} characters")
    for _ in names:
        pass


def _is_kept(key: str, min_chars: int, max_chars: int) -> bool:
    return min_chars <= len(key) <= max_chars and "\n" not in key


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers."""
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(open_input(path))
            lines = stack.enter_context(BoundedGzip(path, raw)) if path.suffix == ".gz" else raw
            for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(line) > MAX_LINE_BYTES:
                    raise DataError(f"{path}:{number}: line of over {MAX_LINE_BYTES} bytes, want one name per line")
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(f"{path}:{number}: not UTF-8 at byte {error.start}") from error
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such dictionary file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
