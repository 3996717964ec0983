"""Normalisation: hand-worked forms, and a map that always leads back into the untouched text."""

from __future__ import annotations

import sys
import time
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.text import match_key, normalise

any_char = st.characters(exclude_categories=())  # lone surrogates included
MARKUP = (
    "&amp; &nbsp; &lt;b&gt; &amp;amp; &#20013; &#xD800; &#1; &AB; & ; < > <br/> </p> http:// https://a.cn/x?y=1 www."
)
CHARACTERS = "新闻/ … ① ﬁ ½ İ Ａ １ é e\u0301 😀 👨\u200d👩 ♥\ufe0f 松果 Nova \u200b \ufeff \ud800"
BLANKS = ("<a ", "\r\n", "\u3000", "\u00a0", "\u2028", "\x85", " ")
fragments = st.sampled_from([*MARKUP.split(), *CHARACTERS.split(), *BLANKS])
raw_texts = st.lists(fragments | st.text(any_char, max_size=6), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("", ""),
        ("松果发布ＮＯＶＡ２", "松果发布nova2"),
        ("Nova　2，涨１０％！", "nova 2,涨10%!"),
        ("“松果”《云杉》", "“松果”《云杉》"),
        ("①½ﬁ㎏…", "11⁄2fikg..."),
        ("甲\u200b乙\ufeff丙\x00丁\u202e", "甲乙丙丁"),
        ("♥\ufe0f好", "♥好"),
        ("甲 \u3000\t乙", "甲 乙"),
        ("甲\t乙", "甲 乙"),
        ("甲\r\n\r\n\u3000\u3000乙", "甲\n乙"),
        ("甲\u2028乙\x85丙\x0b丁", "甲\n乙\n丙\n丁"),
        ("\u3000\u3000甲 ", " 甲 "),
        ("甲\ud800乙", "甲\ufffd乙"),
        ("İ", "i̇"),
    ],
)
def test_characters(raw: str, text: str) -> None:
    assert normalise(raw).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("H&amp;M", "h&m"),
        ("甲&nbsp;&nbsp;乙", "甲 乙"),
        ("甲&amp;nbsp;乙", "甲 乙"),
        ("&amp;amp;amp;lt;", "<"),
        ("&#20013;&#x6587;&ldquo;", "中文“"),
        ("&#0;&#xD800;", "\ufffd\ufffd"),
        ("甲&#1;乙", "甲乙"),
        ("AT&TX;甲", "at&tx;甲"),
        ("Q&A; R&D", "q&a; r&d"),
        ("&&&;&#;", "&&&;&#;"),
    ],
)
def test_references(raw: str, text: str) -> None:
    assert normalise(raw).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("甲<br/>乙", "甲\n乙"),
        ('甲<a href="x">乙</a>丙', "甲\n乙\n丙"),
        ("甲<p>\n</p>乙", "甲\n乙"),
        ("3<5且6>4", "3<5且6>4"),
        ("见https://a.cn/x?y=1。后", "见\n。后"),
        ("见http://a.cn/x查看", "见\n查看"),
        ("见http://a.cn/新闻/1.html查看", "见\n查看"),
        ("（www.a-b.com）。", "(\n)。"),
        ("(见www.a.com).", "(见\n)."),
        ("www 和 http", "www 和 http"),
    ],
)
def test_tags_and_addresses_become_breaks(raw: str, text: str) -> None:
    assert normalise(raw).text == text


def test_map_worked_by_hand() -> None:
    #      0 12 345678 9
    raw = "甲…\u200b&amp;　 乙"
    found = normalise(raw)
    assert found.text == "甲...& 乙"
    assert found.starts == [0, 1, 1, 1, 3, 8, 10]
    assert found.ends == [1, 2, 2, 2, 8, 10, 11]
    assert [raw[slice(*found.raw_span(index, index + 1))] for index in (0, 1, 4, 5, 6)] == [
        "甲",
        "…",
        "&amp;",
        "　 ",
        "乙",
    ]
    assert raw[slice(*found.raw_span(3, 5))] == "…\u200b&amp;"


def test_unknown_reference_keeps_the_origin_of_each_character() -> None:
    raw = "AT&TX;甲"
    assert [raw[slice(*normalise(raw).raw_span(index, index + 1))] for index in range(len(raw))] == list(raw)


def test_dropped_characters_stay_inside_a_span_and_out_at_its_edges() -> None:
    raw = "\u200b松\u200b果\u200b"
    assert normalise(raw).raw_span(0, 2) == (1, 4)


@given(raw_texts)
def test_map_leads_into_the_raw_text(raw: str) -> None:
    found = normalise(raw)
    assert len(found.text) == len(found.starts) == len(found.ends)
    assert found.starts == sorted(found.starts)
    assert found.ends == sorted(found.ends)
    assert all(0 <= start < end <= len(raw) for start, end in zip(found.starts, found.ends, strict=True))


@given(raw_texts, st.data())
def test_raw_span_slices_lie_inside_and_hold_the_text(raw: str, data: st.DataObject) -> None:
    found = normalise(raw)
    assume(found.text)
    start = data.draw(st.integers(0, len(found.text) - 1))
    stop = data.draw(st.integers(start + 1, len(found.text)))
    first, last = found.raw_span(start, stop)
    assert 0 <= first < last <= len(raw)
    if not any(mark in found.text + raw for mark in "&<:") and "www" not in found.text:
        assert found.text[start:stop] in normalise(raw[first:last]).text


@given(raw_texts)
def test_normalised_text_holds_no_runs_of_blanks_and_nothing_unprintable(raw: str) -> None:
    text = normalise(raw).text
    assert not any(left.isspace() and right.isspace() for left, right in pairwise(text))
    assert {char for char in text if char.isspace()} <= {" ", "\n"}
    text.encode("utf-8")  # no lone surrogate


@given(raw_texts)
def test_idempotent_without_markup(raw: str) -> None:
    """Decoding "&amp;lt;" once is right, so text that holds markup may change again."""
    text = normalise(raw).text
    assume(not any(mark in text for mark in ("&", "<", "://", "www")))
    assert normalise(text).text == text


def test_every_code_point_reaches_its_form_in_one_step() -> None:
    every = "".join(map(chr, [*range(0x20000), *range(0xE0000, 0xE0200), sys.maxunicode]))
    found = normalise(every.replace("&", "").replace("<", ""))
    assert normalise(found.text).text == found.text
    assert len(found.text) > 100_000
    assert found.starts == sorted(found.starts)


@given(raw_texts)
def test_match_key_is_the_text_without_outer_blanks(raw: str) -> None:
    assert match_key(raw) == normalise(raw).text.strip()
    assert match_key(f" \u3000{raw}\n") == match_key(raw) or "http" in raw or "www" in raw or "<" in raw


def test_match_keys_of_spellings() -> None:
    assert match_key(" Ｎova　2 ") == match_key("nova 2") == "nova 2"
    assert match_key("《松果》") == "《松果》"
    assert match_key("\u200b \n") == ""


@pytest.mark.parametrize(
    "raw", ["<a " * 7000, "&amp" * 5000, "&" + "amp;" * 3000, "http://" + "a中" * 10_000, "www." * 5000]
)
def test_hostile_text_takes_no_time(raw: str) -> None:
    started = time.perf_counter()
    normalise(raw)
    assert time.perf_counter() - started < 5
