from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ArtifactError
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.encoders.chinese_pieces import wordpiece
from pipeline.nn.tokenisers import CharacterTokeniser, PieceTokeniser, Tokeniser
from pipeline.text import normalise
from tests.support.tiny_encoder import TOKENS

SPECIAL = SpecialIds(0, 1, 2, 3)
TOKENISERS: list[Tokeniser] = [
    CharacterTokeniser.fit(["青禾 nova 青禾 nova"]),
    PieceTokeniser(wordpiece(TOKENS), SPECIAL),
]


@pytest.mark.parametrize("tokeniser", TOKENISERS, ids=["characters", "pieces"])
@given(text=st.text(st.sampled_from("青禾𠮷龘😀 \nnovax2。é‍"), max_size=30) | st.text(max_size=20))
def test_tokens_hold_every_visible_character_once(tokeniser: Tokeniser, text: str) -> None:
    text = normalise(text).text
    tokens = tokeniser(text)
    seen = [position for span in zip(tokens.starts, tokens.stops, strict=True) for position in range(*span)]
    assert seen == [position for position, char in enumerate(text) if not char.isspace()]
    assert all(0 <= token < len(tokeniser) for token in tokens.ids)


def test_characters_beyond_the_vocabulary_keep_their_place() -> None:
    tokens = PieceTokeniser(wordpiece(TOKENS), SPECIAL)("龘青𠮷😀s7x")
    assert tokens.ids.tolist() == [1, TOKENS.index("青"), 1, 1, 1]  # "##x" is no piece, so the run is unknown
    assert tokens.stops.tolist() == [1, 2, 3, 4, 7]
    assert PieceTokeniser(wordpiece(TOKENS), SPECIAL)("s77").ids.tolist() == [
        TOKENS.index(token) for token in ("s", "##7", "##7")
    ]


def test_blanks_in_a_piece_belong_to_no_token() -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split

    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Split("|", "removed")
    tokens = PieceTokeniser(tokenizer, SPECIAL)(" 青禾 | |x")
    assert list(zip(tokens.starts, tokens.stops, strict=True)) == [(1, 3), (7, 8)]


@pytest.mark.parametrize("tokeniser", TOKENISERS, ids=["characters", "pieces"])
def test_save_and_load_cut_alike(tokeniser: Tokeniser, tmp_path: Path) -> None:
    tokeniser.save(tmp_path)
    loaded = type(tokeniser).load(tmp_path)
    assert loaded.special == tokeniser.special
    text = "青禾科技 nova 2 龘"
    assert [part.tolist() for part in loaded(text)] == [part.tolist() for part in tokeniser(text)]


def test_load_says_which_file_is_unusable(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"tokenizer\.json: cannot be read"):
        PieceTokeniser.load(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps(["青"]))
    with pytest.raises(ArtifactError, match=r"want \[CLS\] and \[SEP\]"):
        CharacterTokeniser.load(tmp_path)
