"""jieba's dictionary: its words with their frequencies and parts of speech, read without importing jieba."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path

NO_WORD = -math.inf
"""Score of a string that is no word."""

_MIXED = re.compile(r"^(\S*[!-~]\S*) \d", re.MULTILINE)


class WordList:
    """The words of a dictionary.

    Args:
        listing: lines of a word, its count, and its part of speech, with blanks between them.
    """

    def __init__(self, listing: str) -> None:
        fields = listing.split()
        words, counts = fields[0::3], fields[1::3]
        self._rows = dict(zip(words, range(len(words)), strict=True))
        self.log_total = log_total = math.log(sum(int(count) * times for count, times in Counter(counts).items()))
        """Logarithm of the sum of all counts."""
        # 349,046 words have some 5,000 different counts: each is read once, and its logarithm taken once.
        self._score_of = {count: math.log(int(count)) - log_total if int(count) else NO_WORD for count in set(counts)}
        # The last entry of each list, at -1, is that of no word.
        self._score_of[""] = NO_WORD
        log_unknown = math.log(0.5) - log_total
        self._frequency_of = {
            count: score if score > NO_WORD else log_unknown for count, score in self._score_of.items()
        }
        self._counts, self._tags = [*counts, ""], [*fields[2::3], ""]
        self.with_ascii = tuple(_MIXED.findall(listing))
        """Words that hold a Latin letter, a digit or a mark of ASCII."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def scores(self, words: Iterable[str]) -> list[float]:
        """Return the log relative frequency of words, ``NO_WORD`` of what is none or was never counted."""
        row_of, counts, score_of = self._rows.get, self._counts, self._score_of
        return [score_of[counts[row_of(word, -1)]] for word in words]

    def log_frequencies(self, words: Iterable[str]) -> list[float]:
        """Return the log relative frequency of words, with 0.5 occurrences where none was counted."""
        row_of, counts, frequency_of = self._rows.get, self._counts, self._frequency_of
        return [frequency_of[counts[row_of(word, -1)]] for word in words]

    def tags(self, words: Iterable[str]) -> list[str]:
        """Return the part of speech of words, "" of what is none."""
        row_of, tags = self._rows.get, self._tags
        return [tags[row_of(word, -1)] for word in words]

    def inside(self, text: str) -> dict[str, float]:
        """Return the score of every word that a text holds."""
        sizes = range(1, self._longest + 1)
        parts = {text[start : start + size] for start in range(len(text)) for size in sizes}
        found = [part for part in parts if part in self._rows]
        return dict(zip(found, self.scores(found), strict=True))

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._rows), default=0)


@lru_cache(maxsize=1)
def jieba_words() -> WordList:
    """Return the dictionary that comes with jieba.

    jieba's own tokenizer is not asked: importing it takes long, and it caches the dictionary in a file of the
    temporary folder that any user can write.
    """
    spec = find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'jieba'", name="jieba")
    return WordList(Path(spec.origin).with_name("dict.txt").read_text(encoding="utf-8"))
