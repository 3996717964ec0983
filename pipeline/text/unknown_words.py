"""Words that no dictionary holds, by the hidden Markov model that comes with jieba."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_HAN = re.compile(r"([\u4e00-\u9fd5]+)")
_LATIN = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")


class _Model(NamedTuple):
    """jieba's hidden Markov model, in logarithms; states B, M, E, S."""

    start: tuple[float, ...]
    emissions: dict[str, tuple[float, ...]]
    never: tuple[float, ...]
    """Emissions of a character that the model does not know."""
    moves: tuple[float, ...]
    """From E and S to B, from B and M to M, from B and M to E, from E and S to S; there are no others."""


@lru_cache(maxsize=1)
def _model() -> _Model:
    from jieba.finalseg import MIN_FLOAT, emit_P, start_P, trans_P  # slow, and rarely needed beside rjieba

    characters = set().union(*emit_P.values())
    return _Model(
        tuple(start_P[state] for state in "BMES"),
        {char: tuple(emit_P[state].get(char, MIN_FLOAT) for state in "BMES") for char in characters},
        (MIN_FLOAT,) * 4,
        tuple(
            trans_P[first].get(second, MIN_FLOAT) for first, second in ("EB", "SB", "BM", "MM", "BE", "ME", "ES", "SS")
        ),
    )


@lru_cache(maxsize=2**16)
def unknown_words(text: str) -> tuple[str, ...]:
    """Return the words of ``jieba.finalseg.cut``; what was said of a string is kept, since names come again."""
    words: list[str] = []
    for index, piece in enumerate(_HAN.split(text)):
        words += _likeliest(piece) if index % 2 else filter(None, _LATIN.split(piece))
    return tuple(words)


def _likeliest(text: str) -> Iterator[str]:
    """Cut Chinese characters where the likeliest sequence of states (Viterbi) ends a word.

    States: a word's beginning, middle, end, or a word of one character. Each has two possible predecessors; at a tie
    the later letter of B, E, M, S wins, as in jieba.
    """
    model = _model()
    emissions, never = model.emissions, model.never
    to_b, also_to_b, to_m, also_to_m, to_e, also_to_e, to_s, also_to_s = model.moves
    b, m, e, s = map(operator.add, model.start, emissions.get(text[0], never))
    came_from: list[tuple[bool, bool, bool, bool]] = []
    for char in text[1:]:
        emit_b, emit_m, emit_e, emit_s = emissions.get(char, never)
        e_b, s_b = e + to_b + emit_b, s + also_to_b + emit_b
        b_m, m_m = b + to_m + emit_m, m + also_to_m + emit_m
        b_e, m_e = b + to_e + emit_e, m + also_to_e + emit_e
        e_s, s_s = e + to_s + emit_s, s + also_to_s + emit_s
        came_from.append((s_b >= e_b, m_m >= b_m, m_e >= b_e, s_s >= e_s))
        b, m, e, s = max(e_b, s_b), max(b_m, m_m), max(b_e, m_e), max(e_s, s_s)
    state = "S" if s >= e else "E"
    states = [state]
    for step in reversed(came_from):
        place = "BMES".index(state)
        state = ("ES", "BM", "BM", "ES")[place][step[place]]
        states.append(state)
    begin = 0
    for index, state in enumerate(reversed(states)):
        if state in "ES":
            yield text[begin : index + 1]
            begin = index + 1
