"""Segmentation in plain Python: the oracle of the compiled one, and what cuts where that is not installed."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.text.unknown_words import unknown_words
from pipeline.text.word_list import NO_WORD


class LikeliestPath:
    """The likeliest path through the words of a dictionary, and a hidden Markov model over what is left.

    The words are those of ``jieba.lcut``, in about half of its time: logarithms are taken once, and the graph of words
    is never built.

    Args:
        scores: log relative frequency of each word.
        log_total: logarithm of the sum of all counts.
    """

    def __init__(self, scores: Mapping[str, float], log_total: float) -> None:
        self._scores = dict.fromkeys((word[:end] for word in scores for end in range(1, len(word))), NO_WORD)
        self._scores |= scores
        self._log_total = log_total

    def __call__(self, block: str) -> tuple[str, ...]:
        """Return the words of a block: the path of the highest score, the longer word at a tie."""
        forms: list[str] = []
        score_of, n = self._scores.get, len(block)
        best = [0.0] * (n + 1)
        stops = [0] * n
        ended = block + "\n"  # no word holds it, so the search for longer words stops at the end by itself
        for start in range(n - 1, -1, -1):
            stop = start + 1
            top, chosen = NO_WORD, stop
            while (score := score_of(ended[start:stop])) is not None:
                score += best[stop]
                if score >= top:
                    top, chosen = score, stop
                stop += 1
            if top == NO_WORD:
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
        return tuple(forms)

    def _cut_loose(self, characters: str, forms: list[str]) -> None:
        if len(characters) == 1:
            forms.append(characters)
        elif self._scores.get(characters, NO_WORD) > NO_WORD:
            forms.extend(characters)
        else:
            forms.extend(unknown_words(characters))
