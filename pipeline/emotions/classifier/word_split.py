"""Texts cut into words: Chinese by dictionary, other scripts at blanks and marks."""

from __future__ import annotations

import re

from pipeline.nn.vocab import Split, Tokens, tokenise
from pipeline.text.segment import default_segmenter

_CHINESE = "\u3400-\u4dbf\u4e00-\u9fff"
_PART = re.compile(
    rf"[{_CHINESE}]+"
    rf"|[^\W\d_{_CHINESE}]+?(?=n't\b)|n't\b"  # do n't, as vectors of English have it
    r"|'(?:s|re|ve|ll|d|m)\b"
    rf"|\d+(?:[.,]\d+)*|[^\W\d_{_CHINESE}]+(?:-[^\W\d_{_CHINESE}]+)*"
    r"|\S",
    re.IGNORECASE,
)


def split_words(text: str) -> Tokens:
    """Split a text into words in lower case, numbers and single marks; Chinese is segmented by jieba."""
    forms: list[str] = []
    starts: list[int] = []
    for match in _PART.finditer(text):
        if "\u3400" <= match.group()[0] <= "\u9fff":
            words = default_segmenter().cut(match.group())
            forms += words.forms
            starts += [match.start() + start for start in words.starts[:-1]]
        else:
            forms.append(match.group())
            starts.append(match.start())
    stops = [start + len(form) for start, form in zip(starts, forms, strict=True)]
    return Tokens([form.lower() for form in forms], starts, stops)


SPLITS: dict[str, Split] = {"char": tokenise, "word": split_words}
"""By ``head.tokens``."""
