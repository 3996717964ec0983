"""Files that are no plain text, though no row of ours: named and refused, with the way out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import DataError


class Markup(NamedTuple):
    """A format that would be misread as plain text."""

    name: str
    first_line: re.Pattern[bytes]
    way_out: str


MARKUPS = (
    Markup(
        "XML or HTML", re.compile(rb"<(\?xml|!doctype|[a-z]+[^<>]*>\s*$)", re.IGNORECASE), "plain text, or JSON lines"
    ),
    Markup("brat annotations", re.compile(rb"[TRE]\d+\t\S+ \d+ \d+"), "the folder of the .txt and .ann files"),
    Markup("LaTeX", re.compile(rb"\\documentclass"), "plain text, or JSON lines"),
)
"""Tried in this order on the first line that is not blank."""


def refuse_markup(path: Path, number: int, line: bytes | None) -> None:
    """Refuse a file whose first line is that of another format.

    Raises:
        DataError: it is; the hint says what to give instead.
    """
    text = (line or b"").strip()
    for markup in MARKUPS:
        if markup.first_line.match(text):
            raise DataError(f"{path}:{number}: this is {markup.name}, no plain text", hint=f"want {markup.way_out}")
