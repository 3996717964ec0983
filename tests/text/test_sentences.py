"""Sentence boundaries: hand-worked cases, and no character is ever lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text import split_sentences
from pipeline.text.sentences import MAX_PROTECTED_CHARS

texts = st.text(st.sampled_from("松果云杉。!?！？….,;\n 《》〈〉“”‘’「」『』\"'()（）[]【】a1"), max_size=80)


def cut(text: str) -> list[str]:
    return [text[start:stop] for start, stop in split_sentences(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        [],
        ["松果来了"],
        ["松果来了。", "云杉走了"],
        ["好!", "好?", "好！", "好？", "好…", "好……", "好。"],
        ["真的?!", "真的。。。", "真的...", "真的......", "后来"],
        ["价格3.5元..起"],
        ["甲\n", "乙\n\n", "丙"],
        ["\n", "甲"],
        ["他说：“来了。”她走了。"],
        ["（他来了。）", "好。"],
        ["《走吧！出发》今日上映。", "好"],
        ['「走。」『来。』〈去。〉‘停。’"行。"都在。', "好"],
        ["“他来了。", "她走了。"],
        ["“他来了。\n", "她走了。”"],
        ["《甲。", "《乙。》丙"],
    ],
)
def test_worked_by_hand(sentences: list[str]) -> None:
    assert cut("".join(sentences)) == sentences


@pytest.mark.parametrize("n_chars", [MAX_PROTECTED_CHARS, MAX_PROTECTED_CHARS + 1])
def test_a_long_quotation_protects_nothing(n_chars: int) -> None:
    inner = "松。" + "果" * (n_chars - 2)
    assert len(cut(f"“{inner}”来。")) == (1 if n_chars <= MAX_PROTECTED_CHARS else 2)


@given(texts | st.text())
def test_lossless(text: str) -> None:
    spans = split_sentences(text)
    assert "".join(cut(text)) == text
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans)][: len(spans)]
    assert all(start < stop for start, stop in spans)


@given(
    texts,
    st.text(st.sampled_from("松果。!?a "), max_size=20),
    st.sampled_from(["《》", "“”", "「」", "『』", "〈〉", "‘’"]),
)
def test_a_closed_pair_is_never_cut(before: str, inner: str, pair: str) -> None:
    clean = "".join(char for char in before if char not in '《》〈〉“”‘’「」『』"')
    text = f"{clean}{pair[0]}{inner}{pair[1]}后"
    inside = range(len(clean) + 1, len(clean) + len(inner) + 2)
    assert not {start for start, _ in split_sentences(text)} & set(inside)


@given(texts)
def test_every_sentence_but_the_last_ends_in_a_stop_or_break(text: str) -> None:
    closing = "”’」』》〉)）]】\"'"
    for sentence in cut(text)[:-1]:
        assert sentence.endswith("\n") or sentence.rstrip(closing)[-1] in "。!?！？….", sentence


@pytest.mark.parametrize(
    "text", ["“" * 20_000, "《" * 20_000, "." * 20_000, "。" * 20_000, '"松' * 10_000, "松" * 20_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    started = time.perf_counter()
    assert "".join(cut(text)) == text
    assert time.perf_counter() - started < 5
