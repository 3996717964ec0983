"""How people write tags: what the letters mean, and how letter and type are spelt. Two tables, a line a convention."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.text.spans import SchemeName


class Letters(NamedTuple):
    """What the letters of a convention mean."""

    scheme: SchemeName
    """The scheme whose rules hold once the letters are translated."""
    meaning: Mapping[str, str]
    """Letter in the file -> letter of the scheme. Where two mean the same, the first is written."""
    rule: str
    """In words, for messages."""
    opens_inside: bool = False
    """An inside letter that goes on with nothing begins a span."""
    last: str = ""
    """Written at the end of a span of several tokens, in schemes without an end of their own."""
    begins: str = "B"
    """Letter written where a span begins. ``opens_inside``: only right after a span of its own type."""


LETTERS: Mapping[str, Letters] = {
    "BI": Letters("BIO", {"B": "B", "I": "I"}, "BIO, where B begins a span and I goes on"),
    "BIES": Letters("BIESO", dict(zip("BIES", "BIES", strict=True)), "BIOES"),
    "BMES": Letters("BIESO", dict(zip("BMES", "BIES", strict=True)), "BMES, where S is a span of one token"),
    "BILU": Letters("BIESO", dict(zip("BILU", "BIES", strict=True)), "BILOU"),
    "BMEW": Letters("BIESO", dict(zip("BMEW", "BIES", strict=True)), "BMEWO"),
    "IO": Letters("BIO", {"I": "I"}, "IO, where neighbours of one type are one span", opens_inside=True, begins="I"),
    "IOB1": Letters(
        "BIO", {"B": "B", "I": "I"}, "IOB1, where B stands only right after a span of its type", opens_inside=True
    ),
    "SM": Letters("BIO", {"S": "B", "M": "I"}, "SM, where S starts a span and M goes on", begins="S"),
    "SME": Letters(
        "BIO",
        {"S": "B", "M": "I", "E": "I"},
        "SME, where S starts a span, M goes on and E ends it",
        last="E",
        begins="S",
    ),
}
"""By name. The first whose letters cover those of a file is assumed; a later one is tried where that fits badly."""


class Spelling(NamedTuple):
    """How a letter and a type stand together."""

    joint: str = "-"
    suffix: bool = False
    """The letter comes last."""
    lower: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches a tag; groups ``letter`` and ``label``."""
        letter = f"(?P<letter>[{ALPHABET.lower() if self.lower else ALPHABET}])"
        parts = [letter, re.escape(self.joint), "(?P<label>.+)"]
        return re.compile("".join(parts[::-1] if self.suffix else parts), re.DOTALL)

    def join(self, letter: str, label: str) -> str:
        """Write a tag; a letter without type stands alone."""
        letter = letter.lower() if self.lower else letter
        if not label:
            return letter
        return f"{label}{self.joint}{letter}" if self.suffix else f"{letter}{self.joint}{label}"


USUAL = Spelling()
"""B-PER."""
ALPHABET = "BIMELSUW"
"""Every letter of the table above."""
SPELLINGS = tuple(
    Spelling(joint, suffix, lower) for suffix in (False, True) for lower in (False, True) for joint in "-_/"
)
"""Tried in this order."""
