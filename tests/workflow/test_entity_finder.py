"""The answer's names are distinct as they are written out, whatever characters the article holds."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from pipeline.config import CandidateConfig
from pipeline.entities.candidates import CandidateGenerator, CandidateSet
from pipeline.entities.rerank import NumberRule
from pipeline.schema import Article, ChosenEntity, Emotion, Prediction
from pipeline.submission.clean import clean_name
from pipeline.text import Document, default_segmenter
from pipeline.workflow.entity_finder import order_and_choose
from tests.support.located import located

ALL_THREE = NumberRule(floor=0.0, share_of_top=0.0)
GENERATOR = CandidateGenerator(CandidateConfig(), segmenter=default_segmenter())
CHANGED = [
    char
    for char in map(chr, range(sys.maxunicode + 1))
    if unicodedata.normalize("NFKC", char) != char or char.lower() != char
]
"""Every character that normalisation changes."""
CONTENT = "银杏书店在松果镇开业，银杏书店很受欢迎。"


def places(char: str) -> Iterator[Article]:
    """Put a character where a name may begin, end or be cut."""
    for title, content in (
        (f"{char}银杏书店开业", CONTENT),
        (f"银杏书店开业{char}", CONTENT + char),
        (f"银杏书店{char}开业", f"{CONTENT}《{char}》和“{char}茶”。"),
        (f"{char}{char}开业", f"{char}{char}，{CONTENT}{char}{char}"),
        (f"银杏{char}书店", f"银杏{char}书店在松果{char}镇，银杏{char}书店。"),
    ):
        yield Article(f"{ord(char):x}", title, content)


def offered(article: Article) -> CandidateSet:
    return GENERATOR.generate(Document.of(article))


def check_distinct(articles: Iterable[Article]) -> int:
    """Choose from each article's candidates in an order drawn at random; return how many names were left out."""
    rng = np.random.default_rng(5)
    n_left_out = 0
    for article in articles:
        found = offered(article)
        order, chosen = order_and_choose(found, rng.random(len(found)), ALL_THREE)
        written = [clean_name(found.surface(row)) for row in order]
        assert "" not in written
        assert len(set(written)) == len(written), f"{article.news_id}: {written}"
        assert chosen == order[:3]
        entities = [ChosenEntity(found.surface(row), Emotion.POS, 0.5, (1.0, 0.0, 0.0)) for row in chosen]
        Prediction(article.news_id, tuple(entities))
        n_left_out += len(found) - len(order)
    return n_left_out


def test_one_character_that_stands_for_several_is_written_once() -> None:
    found = offered(Article("1", "㏠银杏书店开业", "银杏书店开业。"))
    surfaces = [found.surface(row) for row in range(len(found))]
    assert len(set(surfaces)) < len(surfaces)  # else there is nothing to see here
    probs = np.array([0.9 if surface.startswith("㏠") else 0.1 for surface in surfaces])
    order, chosen = order_and_choose(found, probs, ALL_THREE)
    assert len({surfaces[row] for row in chosen}) == len(chosen) == 3
    assert sorted({surfaces[row] for row in order}) == sorted(surfaces[row] for row in order)


def test_the_better_of_two_that_are_written_alike_stays() -> None:
    found = located(Document.of(Article("1", "银杏,书店和银杏书店", "")), ["银杏,书店", "银杏书店"], {})
    for probs, best in (([0.4, 0.6], 1), ([0.6, 0.4], 0), ([0.5, 0.5], 0)):
        assert order_and_choose(found, np.array(probs), ALL_THREE) == ([best], [best])


def test_what_shows_nothing_is_not_chosen() -> None:
    filler = "\u3164\u3164"
    found = located(Document.of(Article("1", f"银杏{filler}书店", "")), ["\u1160\u1160", "书店"], {})
    assert [clean_name(found.surface(row)) for row in range(2)] == ["", "书店"]
    assert order_and_choose(found, np.array([0.9, 0.1]), ALL_THREE) == ([1], [1])


def test_no_candidate_no_answer() -> None:
    assert order_and_choose(offered(Article("1", "", "")), np.zeros(0), ALL_THREE) == ([], [])


def test_names_are_distinct_around_characters_that_change() -> None:
    rng = random.Random(7)
    calendar = [chr(code) for code in (0x32C0, 0x3358, 0x33E0, 0x337F, 0xFB01, 0xFDFA, 0xBD, 0x2026, 0x3164)]
    drawn = [*calendar, *rng.sample(CHANGED, 150)]
    assert check_distinct(article for char in drawn for article in places(char)) > 0


@pytest.mark.slow
def test_names_are_distinct_around_every_character_that_changes() -> None:
    assert len(CHANGED) > 6_000
    assert check_distinct(article for char in CHANGED for article in places(char)) > 0
