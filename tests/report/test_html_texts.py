from __future__ import annotations

import re

import pytest

from pipeline.errors import ConfigError
from pipeline.report.html.texts import LANGUAGES, REASONS, STAGES, TEXTS, texts
from tests.support.paths import ASSETS


def test_both_languages_have_the_same_keys_and_places_to_fill_in() -> None:
    assert list(texts("en")) == list(texts("zh"))
    for key, (english, chinese) in TEXTS.items():
        assert english.strip(), key
        assert chinese.strip(), key
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", chinese)), key


def test_chinese_labels_are_chinese() -> None:
    latin_only = [key for key, (_, chinese) in TEXTS.items() if not re.search("[\u4e00-\u9fff]", chinese)]
    assert latin_only == ["f1"]


@pytest.mark.parametrize("key", [*REASONS, *(f"fix_{reason}" for reason in REASONS), "wrong_emotion", "spurious"])
def test_every_outcome_has_words(key: str) -> None:
    assert key in TEXTS


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_words(stage: str) -> None:
    assert {f"stage_{stage}", f"fix_{stage}", f"perfect_{stage}"} <= set(TEXTS)


def test_every_word_that_scripts_ask_for_exists() -> None:
    asked = set()
    for path in ASSETS.glob("*.js"):
        asked |= set(re.findall(r'say\("(\w+)"', path.read_text(encoding="utf-8")))
    assert len(asked) > 20
    assert asked <= set(TEXTS)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match="language 'fr': want one of en, zh"):
        texts("fr")
    assert LANGUAGES == ("en", "zh")
