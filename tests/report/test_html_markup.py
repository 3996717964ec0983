from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.html.markup import HIDDEN, Html, number, script_json, tag, visible
from tests.support.paths import ASSETS

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@given(text=ANY_TEXT)
def test_tag_shows_every_character_and_stays_well_formed(text: str) -> None:
    element = ET.fromstring(tag("p", text, title=text))
    assert (element.text or "") == visible(text)
    assert len(element) == 0


@given(text=ANY_TEXT)
def test_visible_leaves_nothing_that_acts_unseen(text: str) -> None:
    shown = visible(text)
    left = [char for char in shown if unicodedata.category(char) in ("Cs", "Cc", "Zl", "Zp") and char not in "\t\n"]
    assert not left
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]", shown)


def test_visible_names_a_bidi_override_and_keeps_a_family_emoji_whole() -> None:
    assert visible("a\u202eb") == "a[U+202E]b"
    assert visible("x\u200dy") == "x[U+200D]y"
    assert visible("👩\u200d👧") == "👩\u200d👧"
    assert visible("half \ud83d") == "half [U+D83D]"
    assert visible("tab\tline\n汉字 é") == "tab\tline\n汉字 é"


@given(
    value=st.recursive(ANY_TEXT | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=3))
)
def test_script_json_reads_back_and_cannot_end_its_script(value: object) -> None:
    content = script_json(value)
    assert json.loads(content) == value
    assert not re.search("[<>&]", content)
    assert not HIDDEN.search(content)
    content.encode()  # no lone surrogate is left


def test_script_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json([float("nan")])


def test_attributes_are_named_as_html_names_them() -> None:
    markup = tag("rect", class_="a", stroke_width=1.5, data_id='"<', hidden=True, title=None, disabled=False)
    assert markup == '<rect class="a" stroke-width="1.5" data-id="&quot;&lt;" hidden=""></rect>'
    assert unescape(markup).count('"<') == 1
    assert tag("p", Html("<b>x</b>"), None, "<i>") == "<p><b>x</b>&lt;i&gt;</p>"


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (0.005, "0.01"), (-0.001, "0"), (12.346, "12.35"), (7, "7")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_page_and_scripts_hide_the_same_characters() -> None:
    """The class in text.js is that of markup.py, but for surrogates, which JavaScript sees in pairs."""
    source = (ASSETS / "text.js").read_text(encoding="utf-8")
    own = re.search(r"const HIDDEN =\s*/\[(.*?)\]\|", source)
    assert own is not None
    in_script = re.compile(f"[{own[1]}]")
    for code in range(0x10000):
        if not 0xD800 <= code < 0xE000:
            assert bool(in_script.match(chr(code))) == bool(HIDDEN.match(chr(code))), hex(code)


def test_no_script_parses_text_as_html() -> None:
    for path in ASSETS.glob("*.js"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", source), (
            path
        )
