"""Rows that repeat a newsId: what is told of them, and which one counts."""

from __future__ import annotations

from pathlib import Path

from pipeline.data.repeats import MAX_EXAMPLES, RepeatedIds, distinct
from pipeline.schema import Article, Emotion, Entity

FILE = Path("rows.jsonl")


def article(news_id: str, title: str = "青禾", emotion: Emotion | None = None) -> Article:
    return Article(news_id, title, "", None if emotion is None else (Entity("青禾", emotion),))


def test_ids_that_occur_once_are_not_told() -> None:
    repeats = RepeatedIds()
    for line, news_id in enumerate(("a", "b"), 1):
        repeats.add(article(news_id), FILE, line)
    assert (repeats.n_rows, repeats.latest, repeats.warning("left out")) == (0, None, None)


def test_each_kind_of_repeat_is_counted_and_named_with_both_places() -> None:
    repeats = RepeatedIds()
    repeats.add(article("a", emotion=Emotion.POS), FILE, 1)
    repeats.add(article("a", emotion=Emotion.POS), Path("more.jsonl"), 1)
    repeats.add(article("a", emotion=Emotion.NEG), FILE, 3)
    repeats.add(article("a", "云杉", emotion=Emotion.NEG), FILE, 4)
    repeats.add(article("a", "松果"), FILE, 5)
    assert (repeats.n_rows, repeats.n_other_text, repeats.n_contradicting) == (4, 2, 1)
    assert repeats.warning("the first counts") == (
        "4 rows repeat an earlier newsId (2 with another text, 1 with contradicting labels), the first counts:"
        " a at more.jsonl:1 (first at rows.jsonl:1);"
        " a at rows.jsonl:3 (first at rows.jsonl:1, contradicting labels);"
        " a at rows.jsonl:4 (first at rows.jsonl:1, another text); and 1 more"
    )


def test_examples_are_bounded() -> None:
    repeats = RepeatedIds()
    for line in range(1, 100):
        repeats.add(article("a"), FILE, line)
    assert (repeats.n_rows, len(repeats.examples)) == (98, MAX_EXAMPLES)


def test_the_first_article_of_an_id_counts() -> None:
    first, other, later = article("a"), article("b"), article("a", "云杉")
    assert distinct([first, other, later]) == [first, other]
