"""How the bytes of a text file stand for characters: recognised by a rule, or as the user says."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from pipeline.errors import ConfigError

UTF_8, GB18030, BIG5 = "utf-8", "gb18030", "big5"
BOM = b"\xef\xbb\xbf"
MIN_COMMON = 0.7
"""Share of common characters from which bytes that are no UTF-8 count as Chinese."""
MIN_CHARS = 4
"""Characters beyond ASCII that it takes to recognise an encoding."""

_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def codec_of(name: str) -> str:
    """Return the Python name of an encoding; GBK and GB2312 become GB18030, which has all their characters.

    Raises:
        ConfigError: there is no such encoding of text.
    """
    try:
        found = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True) or found.name in ("undefined", "idna", "mbcs"):
        raise ConfigError(f"unknown encoding {name!r}", hint="utf-8, utf-16, gb18030 and big5 are the usual ones")
    return GB18030 if found.name in ("gbk", "gb2312") else found.name


def wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 where a file begins as one: with its mark, or with an ASCII character beside a NUL."""
    for mark, name in _WIDE_MARKS.items():
        if head.startswith(mark):
            return name
    if len(head) >= 2 and (head[0] == 0) != (head[1] == 0):
        return "utf-16-be" if head[0] == 0 else "utf-16-le"
    return None


def is_linewise(encoding: str) -> bool:
    """Tell whether the byte of a line feed is one, and only that, in an encoding: each line is decoded by itself."""
    try:
        return "a\n".encode(encoding) == b"a\n"
    except UnicodeError:
        return False


def recognise(lines: Sequence[bytes]) -> str:
    """Return the encoding of some lines: UTF-8, unless most of what is not ASCII is none and is common Chinese in GBK.

    Lines count by their bytes, so that a UTF-8 file with a damaged line, or a name that happens to be UTF-8 in a list
    in GBK ("一一"), changes nothing.
    """
    foreign = [line for line in lines if not line.isascii()]
    sound = sum(len(line) for line in foreign if decodes(line, UTF_8))
    if 2 * sound >= sum(map(len, foreign)):
        return UTF_8
    return GB18030 if _common_share(foreign, GB18030, MIN_CHARS) >= MIN_COMMON else UTF_8


def likely_encoding(line: bytes) -> str | None:
    """Return what a line that is no UTF-8 may be, for an error to name; None: nothing that is known here."""
    shares = {name: _common_share([line], name) for name in (GB18030, BIG5)}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] >= MIN_COMMON / 2 else None


def decodes(line: bytes, encoding: str) -> bool:
    """Tell whether bytes are text in an encoding."""
    try:
        line.decode(encoding)
    except UnicodeError:
        return False
    return True


def _common_share(lines: Sequence[bytes], encoding: str, min_chars: int = 1) -> float:
    """Return the share of common ones among the characters beyond ASCII; 0 where the bytes are no such text or few.

    Common are level 1 of GB 2312 (3,755 characters, more than 99 % of running text) and the frequent plane of Big5,
    with the punctuation of both. Other bytes taken for GBK fall among the rare characters.
    """
    try:
        text = b"\n".join(lines).decode(encoding)
    except UnicodeError:
        return 0.0
    foreign = [char for char in text if not char.isascii()]
    return sum(_is_common(char, encoding) for char in foreign) / len(foreign) if len(foreign) >= min_chars else 0.0


def _is_common(char: str, encoding: str) -> bool:
    try:
        lead = char.encode("gb2312" if encoding == GB18030 else encoding)[0]
    except UnicodeError:
        return False
    return 0xA1 <= lead <= 0xA9 or 0xB0 <= lead <= 0xD7 if encoding == GB18030 else 0xA1 <= lead <= 0xC6
