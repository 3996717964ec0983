from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emotions.classifier.word_split import split_words


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("", []),
        ("The food wasn't bad.", ["the", "food", "was", "n't", "bad", "."]),
        ("It's well-made, I'd say!", ["it", "'s", "well-made", ",", "i", "'d", "say", "!"]),
        ("costs $1,299.50 (15%)", ["costs", "$", "1,299.50", "(", "15", "%", ")"]),
        ("Café olé", ["café", "olé"]),
        ("松果茶社今天开门", ["松果", "茶社", "今天", "开门"]),
        ("新款vivo手机 好用", ["新款", "vivo", "手机", "好用"]),
        ("can't stop", ["ca", "n't", "stop"]),
    ],
)
def test_words_by_hand(text: str, forms: list[str]) -> None:
    assert split_words(text).forms == forms


@given(st.text(st.sampled_from("松果茶社 aB'nt.-9é\n，"), max_size=30))
def test_tokens_lie_in_the_text_and_leave_out_blanks_alone(text: str) -> None:
    tokens = split_words(text)
    assert [text[a:b].lower() for a, b in zip(tokens.starts, tokens.stops, strict=True)] == tokens.forms
    assert "".join(tokens.forms) == "".join(text.split()).lower()
    assert list(tokens.starts) == sorted(tokens.starts)
