"""Traditional script told from simplified: names are matched character by character, and models know the latter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

MIN_CHARS = 20
"""Telling characters before anything is said."""
N_TEXTS = 200
"""Rows that are looked at."""


@lru_cache(maxsize=2**16)
def script_of(char: str) -> int:
    """Return 1 for a character that only traditional texts have, -1 for one that only simplified ones have, else 0.

    GB 2312 is the repertoire of simplified Chinese and Big5 that of traditional: what one of them has and the other
    lacks tells them apart ("們", "们"); what both have ("人") tells nothing.
    """
    if not "\u4e00" <= char <= "\u9fff":
        return 0
    return _is_in(char, "big5") - _is_in(char, "gb2312")


def _is_in(char: str, standard: str) -> int:
    try:
        char.encode(standard)
    except UnicodeEncodeError:
        return 0
    return 1


@dataclass
class ScriptCount:
    """Counts the characters that only one of the two scripts has."""

    n_traditional: int = 0
    n_simplified: int = 0
    n_texts: int = 0

    def add(self, *texts: str) -> None:
        """Look at the texts of a row, unless there were ``N_TEXTS`` rows."""
        if self.n_texts >= N_TEXTS:
            return
        self.n_texts += 1
        for char, count in Counter("".join(texts)).items():
            script = script_of(char)
            self.n_traditional += count * (script > 0)
            self.n_simplified += count * (script < 0)

    def warning(self) -> str | None:
        """Return one line where most of them are traditional, else None."""
        total = self.n_traditional + self.n_simplified
        if total < MIN_CHARS or self.n_traditional * 2 <= total:
            return None
        return (
            f"mostly traditional script ({self.n_traditional} of {total} telling characters);"
            " models trained on simplified text find less in it, but with train --set text.to_simplified=true"
        )
