"""What matchers read: characters or words, but no stopwords. Latin runs stay whole either way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.text.dictionary import read_dictionary

_LATIN = r"[a-z0-9](?:[a-z0-9.+#&'_-]*[a-z0-9+#])?"
_LATIN_RUN = re.compile(_LATIN)
_TOKEN = re.compile(rf"{_LATIN}|\S")

Mode = Literal["char", "word"]
LONGEST_STOPWORD = 60
"""Characters; a longer line of a file of stopwords is left out."""


def read_stopwords(path: str) -> tuple[str, ...]:
    """Read a file of stopwords, one a line, normalised as texts are; "" names none.

    Raises:
        DataError: the file is missing, not UTF-8, not a list of short lines, or holds no word.
    """
    return tuple(read_dictionary(Path(path), min_chars=1, max_chars=LONGEST_STOPWORD)) if path else ()


def token_bounds(text: str, word_starts: Iterable[int], mode: Mode) -> np.ndarray:
    """Split a normalised text: token ``i`` is ``text[bounds[i, 0]:bounds[i, 1]]``; blanks belong to none.

    ``char`` takes each character, but keeps Latin runs such as ``c++``, ``wi-fi`` or ``3.5`` whole; ``word`` takes
    the segmenter's words, and such runs in place of the words that they hold.

    Args:
        text: normalised text.
        word_starts: ``Words.starts`` of the text.
        mode: characters or words.

    Returns:
        int32 (n_tokens, 2).
    """
    if mode == "char":
        found = [match.span() for match in _TOKEN.finditer(text)]
    else:
        cuts = {*word_starts, 0, len(text)}
        for match in _LATIN_RUN.finditer(text):
            start, stop = match.span()
            cuts.difference_update(range(start + 1, stop))
            cuts.update((start, stop))
        ordered = sorted(cuts)
        found = [span for span in pairwise(ordered) if text[slice(*span)].strip()]
    return np.array(found, dtype=np.int32).reshape(-1, 2)
