from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.relevance.tokens import token_bounds
from pipeline.text import default_segmenter


def tokens(text: str, mode: str) -> list[str]:
    starts = default_segmenter().cut(text).starts
    return [text[start:stop] for start, stop in token_bounds(text, starts, mode).tolist()]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "char", "word"),
    [
        ("学习c++语言", ["学", "习", "c++", "语", "言"], ["学习", "c++", "语言"]),
        ("c#和.net", ["c#", "和", ".", "net"], ["c#", "和", ".", "net"]),
        ("wi-fi 6 上市", ["wi-fi", "6", "上", "市"], ["wi-fi", "6", "上市"]),
        ("涨3.5%。", ["涨", "3.5", "%", "。"], ["涨", "3.5", "%", "。"]),
        ("at&t公司.", ["at&t", "公", "司", "."], ["at&t", "公司", "."]),
        ("", [], []),
        (" \n ", [], []),
    ],
)
def test_latin_runs_stay_whole(text: str, char: list[str], word: list[str]) -> None:
    assert tokens(text, "char") == char
    assert tokens(text, "word") == word


@pytest.mark.parametrize("mode", ["char", "word"])
@given(text=st.text(st.sampled_from("银杏书店c+#3. \n。"), max_size=30))
def test_tokens_in_order_hold_every_character_but_blanks(mode: str, text: str) -> None:
    found = tokens(text, mode)
    assert all(found)
    assert "".join("".join(found).split()) == "".join(text.split())
