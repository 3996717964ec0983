"""The part of a multilingual vocabulary that Chinese text needs, and its tokeniser.

Every character is a token of its own, so that labels fall on characters; runs of Latin letters and digits are split
into pieces. A token's vector is that of the piece it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from pipeline.nn.encoders.e5_file import SpecialPieces
from pipeline.text import normalise

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
N_LATIN = 8000
"""Most probable Latin and digit pieces that are kept."""
MAX_RUN_CHARS = 200
"""Longer runs of Latin letters and digits are one unknown token."""

_CONTINUED = "##"
_WORD_START = "\u2581"
_LATIN = re.compile(rf"{_WORD_START}?[A-Za-z0-9]+")


def chinese_pieces(pieces: Sequence[str], scores: np.ndarray, special: SpecialPieces) -> dict[str, int]:
    """Map each token of the Chinese vocabulary, in the order of its ids, to the piece whose vector it takes."""
    tokens = dict(zip(SPECIAL_TOKENS, (special.padding, special.unknown, special.bos, special.eos), strict=True))
    latin = [index for index, piece in enumerate(pieces) if _LATIN.fullmatch(piece)]
    return tokens | _characters(pieces) | _latin(pieces, latin, scores)


def _characters(pieces: Sequence[str]) -> dict[str, int]:
    """Return every character but Latin letters and digits; one that ``normalise`` changes cannot occur."""
    found: dict[str, int] = {}
    for index, piece in enumerate(pieces):
        char = piece.removeprefix(_WORD_START)
        if len(char) == 1 and not _LATIN.fullmatch(char) and normalise(char).text == char.strip():
            found[char] = index if piece == char else found.get(char, index)
    return found


def _latin(pieces: Sequence[str], latin: Sequence[int], scores: np.ndarray) -> dict[str, int]:
    """Return single letters and digits, and the most probable longer forms, in lower case.

    The first piece of a run prefers the vector of the form that begins a word, the others ("##x") take that of the
    form inside a word; the vocabulary is cased, the text is not, so "nba" has to make do with the vector of "NBA".
    """
    forms = {index: pieces[index].removeprefix(_WORD_START).lower() for index in latin}
    probable = dict.fromkeys(forms[index] for index in sorted(latin, key=lambda index: -scores[index]))
    wanted = {*list(probable)[:N_LATIN], *(form for form in probable if len(form) == 1)}

    def best(indices: Sequence[int]) -> dict[str, int]:
        def preference(index: int) -> tuple[bool, bool, float]:
            piece = pieces[index]
            return piece.startswith(_WORD_START), piece == piece.lower(), float(scores[index])

        return {forms[index]: index for index in sorted(indices, key=preference) if forms[index] in wanted}

    inside = best([index for index in latin if not pieces[index].startswith(_WORD_START)])
    return best(latin) | {_CONTINUED + form: index for form, index in inside.items()}


def wordpiece(tokens: Sequence[str]) -> Tokenizer:
    """Build the tokeniser over a vocabulary that holds "[UNK]"; ids are the order of ``tokens``.

    Tokens never span two characters, except inside a run of Latin letters and digits, and an unknown character is one
    unknown token at its place. Blanks belong to no token.
    """
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=SPECIAL_TOKENS[1], max_input_chars_per_word=MAX_RUN_CHARS))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Split(Regex(r"[a-z0-9]+|\S"), behavior="removed", invert=True)
    return tokenizer
