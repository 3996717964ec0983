"""A decoded row, and what a format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.data.lines import TextLine


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a file as plain values, or why it is none."""

    line: int
    """Where it begins."""
    value: object = None
    fault: str = ""
    """Why it cannot be read; "" where it can."""
    hint: str | None = None


Lines = Iterator[TextLine]


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Args:
        about: for the list of formats.
        read: yields the rows, in order, one at a time.
        suffixes: of names, without ``.gz``.
        begins: tells it by the first line that is not blank.
    """

    about: str
    read: Callable[[Lines], Iterator[Record]]
    suffixes: tuple[str, ...] = ()
    begins: Callable[[str], bool] = lambda line: False


def faulty(line: TextLine) -> Record:
    """Return the row of a line that cannot be read."""
    return Record(line.number, fault=line.fault, hint=line.hint)
