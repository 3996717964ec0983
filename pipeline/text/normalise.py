"""Normalised text with a map back to the untouched characters.

Matching and models read the normalised text; what is written out is always a slice of the
untouched field, found through the map.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

BREAK = "\n"
"""Stands for line breaks, URLs and HTML tags: nothing that is matched or segmented crosses it."""

_URL_CHARS = r"[\w.~:/?#\[\]@!$&'()*+;=%,-]"
_SPECIAL = re.compile(
    # A URL may hold Chinese path segments, but only where more of the URL follows.
    rf"(?P<url>(?i:https?://|www\.)(?a:{_URL_CHARS}+)(?:[\u4e00-\u9fff]+(?=[/?=&#%])(?a:{_URL_CHARS}+))*)"
    r"|(?P<tag></?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>]{0,300})?/?>)"
    r"|(?P<reference>&(?:amp;)*(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)"
)
_ESCAPED_AGAIN = re.compile(r"&(?:amp;)+(?=.)")
"""All but the last name of a reference."""
_BLANKS = re.compile(r"\s+")
_TRAILING_STOP = ".,;:!?)]'"


class _CharacterTable(dict[str, str]):
    """Character -> its normalised form ('' where invisible), filled as characters are met."""

    def __missing__(self, char: str) -> str:
        self[char] = form = self._form(char)
        return form

    @staticmethod
    def _form(char: str) -> str:
        if char.isspace():
            return BREAK if char in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029" else " "
        category = unicodedata.category(char)
        if category == "Cs":
            return "\ufffd"
        if category in ("Cc", "Cf") or "\ufe00" <= char <= "\ufe0f":
            return ""
        return unicodedata.normalize("NFKC", char).lower()


_TABLE = _CharacterTable()


@dataclass(frozen=True, slots=True)
class NormalisedText:
    """Normalised text; character ``i`` comes from ``raw[starts[i]:ends[i]]``.

    ``starts`` and ``ends`` never decrease. Characters that are dropped (zero-width, control)
    belong to no range; a character that expands (an ellipsis) gives its range to each part.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def raw_span(self, start: int, stop: int) -> tuple[int, int]:
        """Map the half-open, non-empty normalised span to the untouched field."""
        return self.starts[start], self.ends[stop - 1]


def normalise(raw: str) -> NormalisedText:
    """Normalise a field: full width, case, blanks, invisible characters, HTML references, URLs.

    NFKC and lower case are applied character by character, so that each result keeps its origin.
    Runs of blanks become one blank (one line break, where the run holds one).
    """
    forms: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def add(form: str, start: int, end: int) -> None:
        for char in form:
            forms.append(char)
            starts.append(start)
            ends.append(end)

    position = 0
    for match in _SPECIAL.finditer(raw):
        _add_plain(raw, position, match.start(), forms, starts, ends)
        position = match.end()
        if match.lastgroup == "reference":
            decoded = _decode_reference(match.group())
            if decoded == match.group():  # no such reference ("AT&TX;"): plain characters
                _add_plain(raw, match.start(), match.end(), forms, starts, ends)
            else:
                add("".join(_TABLE[char] for char in decoded), match.start(), match.end())
            continue
        if match.lastgroup == "url":
            position -= len(match.group()) - len(match.group().rstrip(_TRAILING_STOP))
        add(BREAK, match.start(), position)
    _add_plain(raw, position, len(raw), forms, starts, ends)
    return _collapse_blanks("".join(forms), starts, ends)


def _add_plain(raw: str, start: int, stop: int, forms: list[str], starts: list[int], ends: list[int]) -> None:
    """Append the forms of ``raw[start:stop]``, which holds no reference, tag or URL."""
    parts = [_TABLE[char] for char in raw[start:stop]]
    if len("".join(parts)) == stop - start and "" not in parts:  # each is one character
        forms.extend(parts)
        starts.extend(range(start, stop))
        ends.extend(range(start + 1, stop + 1))
        return
    for index, part in enumerate(parts, start):
        for char in part:
            forms.append(char)
            starts.append(index)
            ends.append(index + 1)


def _decode_reference(reference: str) -> str:
    """Decode an HTML reference, also one that was escaped more than once (``&amp;nbsp;``)."""
    reference = _ESCAPED_AGAIN.sub("&", reference)  # at once: a pass over the rest for each would be quadratic
    decoded = html.unescape(reference)
    while decoded != reference and _SPECIAL.fullmatch(decoded):
        reference, decoded = decoded, html.unescape(decoded)
    return decoded


def _collapse_blanks(text: str, starts: list[int], ends: list[int]) -> NormalisedText:
    pieces: list[str] = []
    kept_starts: list[int] = []
    kept_ends: list[int] = []
    position = 0
    for match in _BLANKS.finditer(text):
        first, last = match.span()
        if last - first == 1:
            continue
        pieces += [text[position:first], BREAK if BREAK in match.group() else " "]
        kept_starts += starts[position : first + 1]
        kept_ends += ends[position:first]
        kept_ends.append(ends[last - 1])
        position = last
    if not pieces:
        return NormalisedText(text, starts, ends)
    return NormalisedText(
        "".join(pieces) + text[position:], kept_starts + starts[position:], kept_ends + ends[position:]
    )


@lru_cache(maxsize=100_000)
def match_key(name: str) -> str:
    """Return the form under which a name is matched: normalised, without outer blanks."""
    return normalise(name).text.strip()
