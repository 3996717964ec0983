"""Word segmentation with offsets and dictionary parts of speech."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import accumulate

from pipeline.text.compiled_cut import load_compiled
from pipeline.text.likeliest_path import LikeliestPath
from pipeline.text.word_list import WordList, jieba_words

_BLOCK = re.compile(r"([\u4e00-\u9fd5a-zA-Z0-9+#&._%\-]+)")
"""What may hold a word of more than one character; between blocks each character is a word (jieba's ``re_han``)."""
_LINE_END = re.compile(r"(\r\n|\s)")
_REMEMBERED, _LONGEST_REMEMBERED = 256, 5_000
"""How many texts are remembered with their words, and the characters of the longest: candidates and emotions ask for
the words of the same articles, a chunk of them at a time."""
_BLOCKS = 2**13
"""How many blocks are remembered with their words: those of the articles of a chunk, twice over."""


@dataclass(frozen=True, slots=True)
class Words:
    """Segmented text: word ``i`` is ``text[starts[i]:starts[i + 1]]``; blanks and marks are words too."""

    forms: list[str]
    starts: list[int]
    """One more entry than ``forms``: the last is the length of the text."""


class Segmenter:
    """jieba's accurate mode over its dictionary.

    The words are those of ``jieba.lcut``, whether they come from rjieba or, where that is not installed, from plain
    Python: so a run may be trained with one and predict with the other. Part of speech is the dictionary's tag of the
    word, '' where the word is not in it.

    Args:
        compiled: use rjieba, where it is installed.
    """

    name = f"jieba-{version('jieba')}"

    def __init__(self, *, compiled: bool = True) -> None:
        self._list = words = jieba_words()
        found = load_compiled(words) if compiled else None
        self.cutter = "plain" if found is None else f"rjieba-{version('rjieba')}"
        """What cuts."""
        # The texts of an article's targets are parts of the article: most of their blocks have been cut before.
        self._cut_block = lru_cache(maxsize=_BLOCKS)(found or _plain(words))
        self._cut_once = lru_cache(maxsize=_REMEMBERED)(self._cut)

    def cut(self, text: str) -> Words:
        """Segment ``text``; the words joined give it back."""
        return (self._cut_once if len(text) <= _LONGEST_REMEMBERED else self._cut)(text)

    def _cut(self, text: str) -> Words:
        forms: list[str] = []
        for index, piece in enumerate(_BLOCK.split(text)):
            if index % 2:
                forms += self._cut_block(piece)
            elif len(piece) == 1:
                forms.append(piece)
            elif piece:
                for part in _LINE_END.split(piece):
                    if part == "\r\n":
                        forms.append(part)
                    else:
                        forms.extend(part)
        return Words(forms, list(accumulate(map(len, forms), initial=0)))

    def tag(self, word: str) -> str:
        """Return the dictionary's part of speech of a word, '' where it has none."""
        return self.tags([word])[0]

    def tags(self, words: Iterable[str]) -> list[str]:
        """Return ``tag`` of several words."""
        return self._list.tags(words)

    def log_frequencies(self, words: Iterable[str]) -> list[float]:
        """Return the log relative frequency of words in jieba's corpus (0.5 occurrences where unknown)."""
        return self._list.log_frequencies(words)


def _plain(words: WordList) -> LikeliestPath:
    return LikeliestPath(dict(zip(words, words.scores(words), strict=True)), words.log_total)


@lru_cache(maxsize=1)
def default_segmenter() -> Segmenter:
    """Return the process's segmenter; building one takes some tenths of a second."""
    return Segmenter()
