"""Text in a terminal: the columns it takes, and what is safe to show of it."""

from __future__ import annotations

import unicodedata


def visible(char: str) -> str:
    """Return what to show of a character so that the terminal is not commanded by it.

    A control character or line break becomes a blank; a format character, which is nothing to look at and may turn
    the line around, becomes nothing.
    """
    category = unicodedata.category(char)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if category == "Cf":
        return ""
    return "\ufffd" if category == "Cs" else char


def shown(text: str) -> str:
    """Return a text in characters that are ``visible``."""
    return "".join(map(visible, text))


def columns(text: str) -> int:
    """Return the columns of a line that is ``shown``.

    Wide and full-width characters take 2, marks on the character before them 0. Those whose width Unicode leaves
    open (curly quotes, "×") count as 1, as in a terminal with Latin fonts.
    """
    return sum(map(_width, text))


def padded(text: str, width: int) -> str:
    """Fill a line up with blanks on the right to a number of columns."""
    return text + " " * max(0, width - columns(text))


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
