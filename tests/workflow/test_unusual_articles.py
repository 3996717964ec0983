"""Articles that are very long, empty, or of characters that news has few of are answered, in a sane time."""

from __future__ import annotations

import time

import pytest

from pipeline.schema import Article
from pipeline.workflow.predict import Predictor
from tests.support.command_line import TinyRun

LONG = 200_000
"""Characters."""
MAX_SECONDS = 60
"""Of CPU time for one long article; the tiny run has no network."""


@pytest.fixture(scope="module")
def predictor(tiny_run: TinyRun) -> Predictor:
    return Predictor.load(tiny_run.path)


def names_of(predictor: Predictor, title: str, content: str) -> list[str]:
    """Answer an article, strictly, and return its names."""
    [answer] = predictor.predict([Article("a", title, content)], strict=True)
    for entity in answer.entities:
        assert all(mention.surface in (title, content)[mention.field == "content"] for mention in entity.mentions)
    return [entity.name for entity in answer.entities]


SLOWER = ("砚台超市", "a中", "㋀", "a-")
"""Up to ten seconds each: every place begins some candidate."""


@pytest.mark.parametrize(
    "unit",
    [
        "砚台超市今天开业，人们都来买茶。",
        "amp;",
        "&amp;nbsp;",
        "《“",
        "😀👩\u200d👧",
        "砚台超市 开业\n",
        *(pytest.param(unit, marks=pytest.mark.slow) for unit in SLOWER),
    ],
    ids=ascii,
)
def test_a_long_article_is_answered_in_time(predictor: Predictor, unit: str) -> None:
    content = f"&{unit * (LONG // len(unit))};"
    start = time.process_time()
    names = names_of(predictor, "砚台超市开业", content)
    assert time.process_time() - start < MAX_SECONDS
    assert 1 <= len(names) <= 3


@pytest.mark.parametrize("content", ["", " ", "\n\u3000\n", "。", "\u200b", "\x00", "……"])
@pytest.mark.parametrize("title", ["", "\u3000", "，"])
def test_nothing_to_name(predictor: Predictor, title: str, content: str) -> None:
    assert names_of(predictor, title, content) == []


@pytest.mark.parametrize(
    ("title", "content"),
    [
        ("砚台超市开业", ""),
        ("", "砚台超市开业"),
        ("砚台超市", "砚台超市"),
        ("😀砚台超市😀", "👩\u200d👧砚台超市👩\u200d👧😀"),
        ("㋀砚台超市", "㋀㋀砚台超市㍿"),
    ],
)
def test_short_articles(predictor: Predictor, title: str, content: str) -> None:
    names = names_of(predictor, title, content)
    assert 1 <= len(names) <= 3
    assert len(set(names)) == len(names)


def test_one_candidate(predictor: Predictor) -> None:
    [trace] = predictor.trace([Article("a", "", "，云杉。")], strict=True)
    assert trace.offered.keys == ["云杉"]
    assert [entity.name for entity in trace.prediction.entities] == ["云杉"]


def test_emoji_alone_are_no_name(predictor: Predictor) -> None:
    assert names_of(predictor, "😀😀", "😀👩\u200d👧" * 50) == []
