"""Word segmentation with offsets and dictionary parts of speech."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import accumulate

import jieba

from pipeline.text.unknown_words import unknown_words

_BLOCK = re.compile(r"([\u4e00-\u9fd5a-zA-Z0-9+#&._%\-]+)")
"""What may hold a word of more than one character; between blocks each character is a word (jieba's ``re_han``)."""
_LINE_END = re.compile(r"(\r\n|\s)")
_NO_WORD = -math.inf
"""Score of a string that only begins words."""
_REMEMBERED, _LONGEST_REMEMBERED = 256, 5_000
"""How many texts are remembered with their words, and the characters of the longest: candidates and emotions ask for
the words of the same articles, a chunk of them at a time."""


@dataclass(frozen=True, slots=True)
class Words:
    """Segmented text: word ``i`` is ``text[starts[i]:starts[i + 1]]``; blanks and marks are words too."""

    forms: list[str]
    starts: list[int]
    """One more entry than ``forms``: the last is the length of the text."""


class Segmenter:
    """jieba's accurate mode over its dictionary, in about half of its time.

    The words are those of ``jieba.lcut``: the likeliest path through the words of the dictionary, and a hidden Markov
    model over what is left as single characters. Logarithms are taken once, and the graph of words is never built.

    jieba's module-level tokenizer is shared state and caches its dictionary in a file of the
    temporary folder that any user can write; this one is built from the package alone.
    Part of speech is the dictionary's tag of the word, '' where the word is not in it.
    """

    name = f"jieba-{version('jieba')}"

    def __init__(self) -> None:
        with jieba.Tokenizer().get_dict_file() as file:
            fields = file.read().decode("utf-8").split()
        words, counts = fields[0::3], [int(count) for count in fields[1::3]]
        self._tags = dict(zip(words, fields[2::3], strict=True))
        self._log_total = log_total = math.log(sum(counts))
        self._log_unknown = math.log(0.5) - log_total
        self._scores = dict.fromkeys((word[:end] for word in words for end in range(1, len(word))), _NO_WORD)
        self._scores |= {word: math.log(count) - log_total for word, count in zip(words, counts, strict=True) if count}
        self._cut_once = lru_cache(maxsize=_REMEMBERED)(self._cut)

    def cut(self, text: str) -> Words:
        """Segment ``text``; the words joined give it back."""
        return (self._cut_once if len(text) <= _LONGEST_REMEMBERED else self._cut)(text)

    def _cut(self, text: str) -> Words:
        forms: list[str] = []
        for index, piece in enumerate(_BLOCK.split(text)):
            if index % 2:
                self._cut_block(piece, forms)
            elif piece:
                for part in _LINE_END.split(piece):
                    if part == "\r\n":
                        forms.append(part)
                    else:
                        forms.extend(part)
        return Words(forms, list(accumulate(map(len, forms), initial=0)))

    def _cut_block(self, block: str, forms: list[str]) -> None:
        """Append the words of a block: the path of the highest score, the longer word at a tie."""
        score_of, n = self._scores.get, len(block)
        best = [0.0] * (n + 1)
        stops = [0] * n
        ended = block + "\n"  # no word holds it, so the search for longer words stops at the end by itself
        for start in range(n - 1, -1, -1):
            stop = start + 1
            top, chosen = _NO_WORD, stop
            while (score := score_of(ended[start:stop])) is not None:
                score += best[stop]
                if score >= top:
                    top, chosen = score, stop
                stop += 1
            if top == _NO_WORD:
                top, chosen = best[start + 1] - self._log_total, start + 1
            best[start], stops[start] = top, chosen
        start = loose = 0  # single characters since ``loose`` wait for the hidden Markov model
        while start < n:
            stop = stops[start]
            if stop > start + 1:
                if loose < start:
                    self._cut_loose(block[loose:start], forms)
                forms.append(block[start:stop])
                loose = stop
            start = stop
        if loose < n:
            self._cut_loose(block[loose:], forms)

    def _cut_loose(self, characters: str, forms: list[str]) -> None:
        if len(characters) == 1:
            forms.append(characters)
        elif self._scores.get(characters, _NO_WORD) > _NO_WORD:
            forms.extend(characters)
        else:
            forms.extend(unknown_words(characters))

    def tag(self, word: str) -> str:
        """Return the dictionary's part of speech of a word, '' where it has none."""
        return self._tags.get(word, "")

    def tags(self, words: Iterable[str]) -> list[str]:
        """Return ``tag`` of several words."""
        tag_of = self._tags.get
        return [tag_of(word, "") for word in words]

    def log_frequencies(self, words: Iterable[str]) -> list[float]:
        """Return the log relative frequency of words in jieba's corpus (0.5 occurrences where unknown)."""
        score_of, unknown = self._scores.get, self._log_unknown
        return [score if score > _NO_WORD else unknown for score in (score_of(word, _NO_WORD) for word in words)]


@lru_cache(maxsize=1)
def default_segmenter() -> Segmenter:
    """Return the process's segmenter; building one takes about a second."""
    return Segmenter()
