"""Sentence boundaries that leave 《titles》 and quotations whole."""

from __future__ import annotations

import re

MAX_PROTECTED_CHARS = 60
"""Longest title or quotation kept whole; an opening mark without a near partner protects nothing."""

_PAIRS = (("《", "》"), ("〈", "〉"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ('"', '"'))
_PROTECTED = "|".join(f"{left}[^{left}{right}\n]{{0,{MAX_PROTECTED_CHARS}}}{right}" for left, right in _PAIRS)
_SCANNER = re.compile(rf"(?:{_PROTECTED})|(?P<end>(?:[。!?！？…]|\.{{3,}})+[”’」』》〉)）\]】\"']*\n*|\n+)")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the half-open spans of the sentences; joined, they give the text back.

    A sentence ends after 。！？… (either width), with the closing marks that follow, or at a line break.
    """
    spans = []
    start = 0
    for match in _SCANNER.finditer(text):
        if match["end"]:
            spans.append((start, match.end()))
            start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans
