"""Entities as the upload file can hold them: no control character or comma, nothing invisible, no repeats."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pipeline.artifacts import LONE_SURROGATE
from pipeline.schema import MAX_ENTITIES

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""All that ``str.splitlines`` breaks at: the reader of an upload file may use it."""

CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
"""Every control character (category Cc): a terminal or a table may obey them."""

_REMOVED = str.maketrans("", "", "," + CONTROLS + LINE_BREAKS)
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Fillers that show nothing although Unicode calls them letters, marks or symbols."""


@dataclass(frozen=True, slots=True)
class CleanNames:
    """What is left of an article's entities."""

    kept: tuple[tuple[int, str], ...]
    """Index among the given names, and the clean name."""
    changes: Counter[str]
    """How often each kind of change was made."""


def is_invisible(name: str) -> bool:
    """Tell whether a name shows nothing: blanks, control and format characters, fillers."""
    return all(char in _BLANK_LETTERS or unicodedata.category(char) in _BLANK_CATEGORIES for char in name)


@lru_cache(maxsize=2**14)  # names come again, and of each article all candidates are asked for
def clean_name(name: str) -> str:
    """Return an entity as it is written, empty if nothing visible is left of it.

    Tab, line breaks, other control characters and the ASCII comma are removed, lone surrogates become
    U+FFFD and outer blanks go; inner blanks stay.
    """
    clean = LONE_SURROGATE.sub("\ufffd", name.translate(_REMOVED)).strip()
    return "" if is_invisible(clean) else clean


def clean_names(names: Iterable[str]) -> CleanNames:
    """Clean an article's entities; drop the empty and the repeated (the first stays), keep at most three."""
    kept: dict[str, int] = {}
    changes: Counter[str] = Counter()
    for index, name in enumerate(names):
        clean = clean_name(name)
        changes["altered"] += clean != name.strip() and clean != ""
        if not clean:
            changes["dropped as empty"] += 1
        elif clean in kept:
            changes["dropped as repeated"] += 1
        elif len(kept) == MAX_ENTITIES:
            changes["dropped beyond three"] += 1
        else:
            kept[clean] = index
    return CleanNames(kept=tuple((index, clean) for clean, index in kept.items()), changes=+changes)
