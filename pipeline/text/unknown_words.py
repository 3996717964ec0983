"""Words that no dictionary holds, by the hidden Markov model that comes with jieba."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from jieba.finalseg import MIN_FLOAT, emit_P, start_P, trans_P

_HAN = re.compile(r"([\u4e00-\u9fd5]+)")
_LATIN = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")

_EMISSIONS = {
    char: tuple(emit_P[state].get(char, MIN_FLOAT) for state in "BMES") for char in set().union(*emit_P.values())
}
_NEVER = (MIN_FLOAT,) * 4
_E_B, _S_B, _B_M, _M_M, _B_E, _M_E, _E_S, _S_S = (
    trans_P[first].get(second, MIN_FLOAT) for first, second in ("EB", "SB", "BM", "MM", "BE", "ME", "ES", "SS")
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
    b, m, e, s = (start_P[state] + score for state, score in zip("BMES", _EMISSIONS.get(text[0], _NEVER), strict=True))
    came_from: list[tuple[bool, bool, bool, bool]] = []
    for char in text[1:]:
        emit_b, emit_m, emit_e, emit_s = _EMISSIONS.get(char, _NEVER)
        e_b, s_b = e + _E_B + emit_b, s + _S_B + emit_b
        b_m, m_m = b + _B_M + emit_m, m + _M_M + emit_m
        b_e, m_e = b + _B_E + emit_e, m + _M_E + emit_e
        e_s, s_s = e + _E_S + emit_s, s + _S_S + emit_s
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
