"""Entity dictionaries matched in one pass over a text (Aho-Corasick)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import ahocorasick
import numpy as np

from pipeline.errors import DataError
from pipeline.text import match_key
from pipeline.text.name_list import MAX_LINE_BYTES as MAX_LINE_BYTES
from pipeline.text.name_list import iter_names

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


MANY_NAMES, FEW_TEXTS = 20_000, 20
"""The automaton of so many names takes longer to build than it takes to look so many texts through without it."""


class Matcher:
    """All occurrences of a fixed set of normalised names, overlapping ones included.

    An Aho-Corasick automaton finds them in one pass. That of a large dictionary takes most of a second to build: the
    first ``FEW_TEXTS`` are looked through piece by piece in a set of the names, with the same result.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(filter(None, names))
        self._lengths = sorted({len(name) for name in self._names}, reverse=True)
        self._n_texts = 0

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _automaton(self) -> ahocorasick.Automaton:
        automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        for name in self._names:
            automaton.add_word(name, len(name))
        automaton.make_automaton()
        return automaton

    def find_anywhere(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the half-open span of every name in a normalised text, by its end, inside Latin runs too."""
        self._n_texts += 1
        if not self._names:
            return
        if len(self._names) >= MANY_NAMES and self._n_texts <= FEW_TEXTS:
            for stop in range(1, len(text) + 1):
                for length in self._lengths:
                    if length <= stop and text[stop - length : stop] in self._names:
                        yield stop - length, stop
            return
        for last, length in self._automaton.iter(text):
            yield last + 1 - length, last + 1

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the half-open span of every name in a normalised text, by its end.

        A name that begins or ends with a Latin letter or digit does not match inside a longer Latin run.
        """
        runs = (run.span() for run in _LATIN_RUN.finditer(text))  # has_word_boundaries, once for the whole text
        inside = {position for start, stop in runs for position in range(start + 1, stop)}
        for start, stop in self.find_anywhere(text):
            if start not in inside and stop not in inside:
                yield start, stop


def occurrences(names: Sequence[str], text: str, *, anywhere: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Find every occurrence of some distinct names, as ``Matcher.find`` does, or ``find_anywhere``.

    Returns:
        The row of the name, and the first character, of each: int64 (n_occurrences,), by their ends.
    """
    automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
    for row, name in enumerate(names):
        automaton.add_word(name, row)
    if not len(automaton):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    automaton.make_automaton()
    found = np.fromiter(chain.from_iterable(automaton.iter(text)), dtype=np.int64).reshape(-1, 2)
    rows, stops = found[:, 1], found[:, 0] + 1
    starts = stops - np.fromiter(map(len, names), np.int64, len(names))[rows]
    if anywhere:
        return rows, starts
    inside = np.zeros(len(text) + 1, dtype=bool)  # has_word_boundaries, once for the whole text
    for run in _LATIN_RUN.finditer(text):
        inside[run.start() + 1 : run.end()] = True
    whole = ~(inside[starts] | inside[stops])
    return rows[whole], starts[whole]


@dataclass(frozen=True)
class Dictionary:
    """The names of a file, and what became of its lines."""

    keys: list[str]
    """Distinct match keys, sorted."""
    n_read: int
    """Names in the file."""
    dropped: Counter[str]
    """Names that are not among the keys, by reason."""

    def summary(self) -> str:
        """Return the counts for one line of the log."""
        told = "".join(f", {count} {reason}" for reason, count in self.dropped.items())
        return f"{self.n_read:,} names read, {len(self.keys):,} kept{told}"


def load_dictionary(
    path: Path, *, min_chars: int = 2, max_chars: int = 20, convert: Callable[[str], str] = str
) -> Dictionary:
    """Read a list of names in any layout of ``iter_names``, plain or gzip.

    BOM, CRLF, comments and blank lines are accepted. Names shorter or longer than the bounds are dropped.

    Args:
        path: of the list.
        min_chars: shortest name.
        max_chars: longest name.
        convert: is done to each name first.

    Raises:
        DataError: the file is missing, not UTF-8, UTF-16 or GB18030, not a list of short lines, or holds no name.
    """
    keys: set[str] = set()
    n_read, dropped = 0, Counter[str]()
    for number, name in iter_names(path):
        n_read += 1
        key = match_key(convert(name))
        if reason := _fault(key, min_chars, max_chars):
            dropped[reason] += 1
        elif key in keys:
            dropped["repeated"] += 1
        else:
            keys.add(key)
            if len(keys) > MAX_NAMES:
                raise DataError(f"{path}:{number}: more than {MAX_NAMES:,} names, which memory may not hold")
    if not keys:
        raise DataError(f"{path}: holds no name of {min_chars} to {max_chars} characters")
    return Dictionary(sorted(keys), n_read, dropped)


def read_dictionary(path: Path, *, min_chars: int = 2, max_chars: int = 20) -> list[str]:
    """Return the keys of ``load_dictionary``."""
    return load_dictionary(path, min_chars=min_chars, max_chars=max_chars).keys


def check_dictionary(path: Path, *, min_chars: int = 2, max_chars: int = 20) -> None:
    """Find what would stop ``load_dictionary`` in a small part of its time: no more keys are made than one.

    Raises:
        DataError: see there.
    """
    names = iter_names(path)
    if all(_fault(match_key(name), min_chars, max_chars) for _, name in names):
        raise DataError(f"{path}: holds no name of {min_chars} to {max_chars} characters")
    for _ in names:
        pass


def _fault(key: str, min_chars: int, max_chars: int) -> str | None:
    """Return why a key is dropped, None where it is not."""
    if len(key) < min_chars:
        return f"shorter than {min_chars} characters"
    if len(key) > max_chars:
        return f"longer than {max_chars} characters"
    return "with a line break inside" if "\n" in key else None
