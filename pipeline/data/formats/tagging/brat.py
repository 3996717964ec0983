"""brat's stand-off files: a folder of ``.txt`` files, each with an ``.ann`` file beside it; every line is a row."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.data.formats.tagging.form import Form, Notes
from pipeline.data.formats.tagging.marked import Marked, checked, entry
from pipeline.data.formats.tagging.row import TagRow
from pipeline.data.formats.tagging.source import decoded_lines, located
from pipeline.errors import DataError

ANN, TXT = ".ann", ".txt"
_SPAN = re.compile(r"T\S*\t(?P<label>\S+) (?P<places>\d{1,15} \d{1,15}(?:;\d{1,15} \d{1,15})*)(?:\t(?P<name>.*))?")
_BESIDE = {
    "R": "relations",
    "*": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalisations",
    "#": "notes",
}
"""What lines that are no spans begin with."""


def is_brat(path: Path) -> bool:
    """Tell a folder, or an ``.ann`` file."""
    return path.is_dir() or path.suffix.lower() == ANN


def iter_brat_rows(path: Path, form: Form, *, labelled: bool, notes: Notes) -> Iterator[TagRow]:
    """Yield the lines that are not blank of every text; offsets count from the beginning of the text.

    Spans in several pieces, and spans across the end of a line, are left out and counted; so is a text without an
    ``.ann`` file, where labels are wanted.

    Raises:
        DataError: a file cannot be read, the folder has no text, or a line of an ``.ann`` file is malformed.
    """
    for text_file in _text_files(path):
        annotations = text_file.with_suffix(ANN)
        if labelled and not annotations.is_file():
            notes.lost[f"texts without a file {ANN}"] += 1
            continue
        lines = [line for _, line in decoded_lines(text_file, form.encoding)]
        entries = _entries(annotations, lines, form, notes) if labelled else {}
        for index, line in enumerate(lines):
            if line.strip():
                beside = {"file": text_file.name, "line": index + 1}
                yield checked(Marked(line.rstrip("\r\n"), entries.get(index, ()), beside), index + 1)


def _text_files(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.with_suffix(TXT).is_file():
            raise DataError(f"{path}: no {path.with_suffix(TXT).name} beside it", hint="give the folder of both files")
        return [path.with_suffix(TXT)]
    if not (found := sorted(path.glob(f"*{TXT}"))):
        raise DataError(f"{path}: a folder without {TXT} files", hint=f"want brat's files: {TXT} and {ANN} of one name")
    if alone := [file for file in sorted(path.glob(f"*{ANN}")) if not file.with_suffix(TXT).is_file()]:
        raise DataError(f"{alone[0]}: no {alone[0].with_suffix(TXT).name} beside it")
    return found


def _entries(path: Path, lines: Sequence[str], form: Form, notes: Notes) -> dict[int, list[dict[str, Any]]]:
    """Return the entries of each line of the text, with offsets from its beginning."""
    text = "".join(lines)
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line))
    entries: dict[int, list[dict[str, Any]]] = {}
    for number, line in decoded_lines(path, form.encoding):
        line = line.rstrip("\r\n")
        if not line.strip():
            continue
        if not line.startswith("T"):
            with located(path, number):
                notes.unread[_beside(line)] += 1
            continue
        with located(path, number):
            if not (match := _SPAN.fullmatch(line)):
                raise DataError(f"want T1, a tab, type, start, end, a tab and the text, not {line[:40]!r}")
            places = [tuple(map(int, place.split())) for place in match["places"].split(";")]
            if len(places) > 1:
                notes.lost["spans in several pieces"] += 1
                continue
            (start, stop), name = places[0], match["name"]
            index = bisect_right(starts, start) - 1
            whole = stop <= len(text) and start < stop
            if whole and stop > starts[index] + len(lines[index].rstrip("\r\n")):
                notes.lost["spans across the end of a line"] += 1
                continue
            # Checked here, where the line of the annotation is known.
            checked(Marked(text, [entry(start, stop, match["label"], name)]), number)
        entries.setdefault(index, []).append(entry(start - starts[index], stop - starts[index], match["label"], name))
    return entries


def _beside(line: str) -> str:
    if line[0] not in _BESIDE:
        raise DataError(f"no line of brat's: {line[:40]!r}")
    return _BESIDE[line[0]]
