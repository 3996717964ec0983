"""Word segmentation with offsets and dictionary parts of speech."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version

import jieba


@dataclass(frozen=True, slots=True)
class Words:
    """Segmented text: word ``i`` is ``text[starts[i]:starts[i + 1]]``; blanks and marks are words too."""

    forms: list[str]
    starts: list[int]
    """One more entry than ``forms``: the last is the length of the text."""


class Segmenter:
    """jieba in accurate mode, with a private dictionary.

    jieba's module-level tokenizer is shared state and caches its dictionary in a file of the
    temporary folder that any user can write; this one is built from the package alone.
    Part of speech is the dictionary's tag of the word, '' where the word is not in it.
    """

    name = f"jieba-{version('jieba')}"

    def __init__(self) -> None:
        frequencies: dict[str, int] = {}
        self._tags: dict[str, str] = {}
        total = 0
        with jieba.Tokenizer().get_dict_file() as lines:
            for line in lines:
                word, count, tag = line.decode("utf-8").split()
                frequencies[word] = int(count)
                self._tags[word] = tag
                total += int(count)
                for end in range(1, len(word)):
                    frequencies.setdefault(word[:end], 0)
        self._tokenizer = jieba.Tokenizer()
        self._tokenizer.FREQ = frequencies
        self._tokenizer.total = total
        self._tokenizer.initialized = True
        self._log_total = math.log(total)

    def cut(self, text: str) -> Words:
        """Segment ``text``; the words joined give it back."""
        forms = self._tokenizer.lcut(text)
        starts = [0]
        for form in forms:
            starts.append(starts[-1] + len(form))
        return Words(forms, starts)

    def tag(self, word: str) -> str:
        """Return the dictionary's part of speech of a word, '' where it has none."""
        return self._tags.get(word, "")

    def log_frequency(self, word: str) -> float:
        """Return the log relative frequency of a word in jieba's corpus (0.5 occurrences where unknown)."""
        return math.log(self._tokenizer.FREQ.get(word) or 0.5) - self._log_total


@lru_cache(maxsize=1)
def default_segmenter() -> Segmenter:
    """Return the process's segmenter; building one takes about a second."""
    return Segmenter()
