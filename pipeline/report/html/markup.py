"""Building HTML and SVG from Python: everything is escaped unless it was built here.

What cannot be seen in a text (a character that turns the line around, a control, half of a surrogate pair) is shown by
its code, so that a page shows every character it was given and none of them acts.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from typing import Any

VOID = {"meta", "link", "br", "hr", "input"}
"""HTML elements without an end tag."""
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Controls but tab and line feed, what turns or joins text unseen, lone surrogates. ``text.js`` has the same."""
JOINER = "\u200d"
"""Belongs into emoji of several parts, where it stays as it is."""


class Html(str):
    """A string of finished markup, put into a page as it stands."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """Build an element.

    Args:
        name: such as ``p`` or ``svg``.
        children: ``Html`` is taken as it is, any other text escaped; None is nothing.
        attributes: ``class_`` means ``class``, ``data_id`` ``data-id``; None and False leave one out, True gives it no
            value. Numbers are rounded to a hundredth.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        shown = "" if value is True else number(value) if isinstance(value, int | float) else visible(value)
        parts.append(f' {key}="{html.escape(shown)}"')
    parts.append(">")
    if name not in VOID:
        parts += [escaped(child) for child in children if child is not None]
        parts.append(f"</{name}>")
    return Html("".join(parts))


def join(parts: list[Html]) -> Html:
    """Put finished markup one after the other."""
    return Html("".join(parts))


def escaped(text: str) -> Html:
    """Return a text as markup that shows it; ``Html`` stays as it is."""
    return text if isinstance(text, Html) else Html(html.escape(visible(text)))


def number(value: float) -> str:
    """Write a number short: at most two decimals, no trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return "0" if text in ("-0", "") else text


def visible(text: str) -> str:
    """Replace every hidden character by its code, as in ``[U+202E]``."""
    return HIDDEN.sub(lambda match: _code(text, match.start()), text)


def script_json(value: Any) -> str:
    """Write a value as JSON that may stand in a script or in HTML: no ``<``, ``>``, ``&`` or hidden character is left.

    NaN is refused: it is not JSON.
    """
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    content = HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", content)
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", content)


def _code(text: str, index: int) -> str:
    char = text[index]
    if (
        char == JOINER
        and index
        and (text[index - 1] == "\ufe0f" or unicodedata.category(text[index - 1]) in ("So", "Sk"))
    ):
        return char
    return f"[U+{ord(char):04X}]"
