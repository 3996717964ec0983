"""Attention in a terminal and as an image: no character lost, nothing unescaped, shades by weight."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.standalone.heads.attention_view import RESET, SHADES, attention_svg, attention_text
from pipeline.text.terminal import columns, shown

SVG = "{http://www.w3.org/2000/svg}"
ANSI = re.compile("\x1b\\[[0-9;]*m")


@st.composite
def weighted(draw: st.DrawFn) -> tuple[str, list[float], tuple[int, int]]:
    text = draw(st.text(max_size=120))
    weights = draw(st.lists(st.floats(0, 1), min_size=len(text), max_size=len(text)))
    start = draw(st.integers(0, len(text)))
    return text, weights, (start, draw(st.integers(start, len(text))))


def image_text(image: str) -> str:
    return "".join(span.text or "" for span in ElementTree.fromstring(image).iter(f"{SVG}tspan"))


def test_colours_grow_with_the_weight_and_the_target_is_underlined() -> None:
    view = attention_text("云杉 好", [0.0, 0.5, 0.0, 1.0], target=(0, 2))
    assert view == (f"\x1b[4m云{RESET}\x1b[{SHADES[4]};38;5;16;4m杉{RESET} \x1b[{SHADES[-1]};38;5;16m好{RESET}")


def test_plain_view_has_digits_as_wide_as_the_characters() -> None:
    view = attention_text("云杉ab 好", [0.0, 0.05, 0.5, 0.25, 0.0, 0.5], target=(0, 2), colored=False)
    assert view == "云杉ab 好\n^^1195 99"


def test_plain_view_folds_text_and_digits_together() -> None:
    lines = attention_text("云杉云杉", [1.0, 0, 0, 1.0], colored=False, width=4).split("\n")
    assert lines == ["云杉", "99", "云杉", "  99"]


def test_weights_that_do_not_fit_the_text_are_refused() -> None:
    with pytest.raises(ValueError, match="3 characters but 2 weights"):
        attention_text("abc", [0.1, 0.2])


@given(weighted())
def test_views_lose_no_character(case: tuple[str, list[float], tuple[int, int]]) -> None:
    text, weights, target = case
    coloured = attention_text(text, weights, target=target)
    assert ANSI.sub("", coloured) == shown(text)
    image = attention_svg(text, weights, target=target, title=text)
    assert image_text(image) == re.sub("[\ufffe\uffff]|[\ud800-\udfff]", "\ufffd", shown(text))


@given(weighted(), st.integers(2, 30))
def test_no_folded_line_is_wider_than_asked(case: tuple[str, list[float], tuple[int, int]], width: int) -> None:
    text, weights, target = case
    for line in attention_text(text, weights, target=target, width=width).split("\n"):
        assert columns(ANSI.sub("", line)) <= width


def test_image_escapes_markup_and_needs_nothing_from_outside() -> None:
    image = attention_svg("<b>&\"'</b>", [0.1] * 10, title='<a "b">')
    assert image_text(image) == "<b>&\"'</b>"
    root = ElementTree.fromstring(image)
    assert root.get("aria-label") == '<a "b">'
    assert "prefers-color-scheme:dark" in image
    assert re.findall("https?://[^\"']*", image) == ["http://www.w3.org/2000/svg"]
    assert not re.search("<(image|script|use|link)|url\\(|@import|href", image)


def test_image_has_a_box_for_each_run_of_weight() -> None:
    root = ElementTree.fromstring(attention_svg("云杉 好", [0.25, 0.25, 0.0, 0.5], target=(0, 2)))
    boxes = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "weight"]
    assert [(box.get("x"), box.get("width"), box.get("fill-opacity")) for box in boxes] == [
        ("16", "32", "0.425"),
        ("56", "16", "0.850"),
    ]
    assert [box.find(f"{SVG}title").text for box in boxes] == ["0.2500", "0.5000"]
    assert len(list(root.iter(f"{SVG}line"))) == 1
