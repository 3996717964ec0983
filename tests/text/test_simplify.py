"""Traditional text is converted to simplified, character for character; without OpenCC one is told what to install."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ConfigError
from pipeline.text import simplify
from pipeline.text.simplify import converter, to_simplified


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("松果手機發佈了新品", "松果手机发布了新品"),
        ("乾隆年間，天氣乾燥", "乾隆年间，天气干燥"),  # a phrase settles what a character alone does not
        ("《頭條》ＡＰＰ\x00後\ud800來", "《头条》ＡＰＰ\x00后\ud800来"),
        ("已经是简体", "已经是简体"),
        ("", ""),
    ],
)
def test_traditional_characters_become_simplified(text: str, simple: str) -> None:
    assert to_simplified(text) == simple


@given(st.text(st.characters(codec="utf-32")))
def test_the_length_stays(text: str) -> None:
    assert len(to_simplified(text)) == len(text)


def test_what_changes_its_length_is_converted_by_character(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = {"軟體": "软件包", "軟": "软", "體": "体", "龘": "龙龙", "龘軟": "龙龙软"}
    monkeypatch.setattr(simplify, "converter", lambda: lambda text: forms.get(text, text))
    assert to_simplified("軟體，龘軟") == "软体，龘软"


def test_without_opencc_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    converter.cache_clear()
    with pytest.raises(ConfigError, match=r"^text\.to_simplified: OpenCC is not installed") as raised:
        to_simplified("手機")
    assert raised.value.hint == "pip install -r requirements-script.txt"
