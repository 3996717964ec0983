"""The shipped sample: known names return as often as on real data, and are no sign of being core or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from pipeline.data.audit import audit
from pipeline.data.read import iter_articles
from pipeline.schema import Article, Emotion
from tests.support.paths import SAMPLE

SIZES = {"train": 130, "dev": 20, "test": 30}
FILES = {name: list(iter_articles(SAMPLE / f"{name}.jsonl", labelled=True)) for name in SIZES}


def gold(article: Article) -> list[str]:
    return [entity.name for entity in article.entities or ()]


def occurrences(articles: Sequence[Article]) -> list[str]:
    return [name for article in articles for name in gold(article)]


def text(article: Article) -> str:
    return f"{article.title}\n{article.content}"


IN_TRAIN = Counter(occurrences(FILES["train"]))
"""Articles of the training file in which a name is gold."""


def known(file: str) -> list[str]:
    """Gold occurrences of names that are gold in a training article, other than the one at hand."""
    return [name for name in occurrences(FILES[file]) if IN_TRAIN[name] > (file == "train")]


def passing(file: str) -> list[str]:
    """Gold names of the training file, once for each article that mentions them without their being core there."""
    return [name for article in FILES[file] for name in IN_TRAIN if name not in gold(article) and name in text(article)]


def test_sizes() -> None:
    assert {name: len(articles) for name, articles in FILES.items()} == SIZES
    assert len({article.news_id for articles in FILES.values() for article in articles}) == sum(SIZES.values())


def test_every_gold_name_is_in_its_text() -> None:
    for articles in FILES.values():
        for article in articles:
            assert 1 <= len(gold(article)) <= 3
            assert all(name in text(article) for name in gold(article)), article.news_id


@pytest.mark.parametrize(("file", "low", "high"), [("train", 0.42, 0.48), ("dev", 0.36, 0.44), ("test", 0.36, 0.44)])
def test_share_of_gold_occurrences_known_from_training(file: str, low: float, high: float) -> None:
    assert low <= len(known(file)) / len(occurrences(FILES[file])) <= high


def test_names_return_in_two_to_six_training_articles() -> None:
    returning = {name: count for name, count in IN_TRAIN.items() if count > 1}
    assert len(returning) >= 45
    assert max(returning.values()) <= 6


def test_emotions_toward_a_returning_name_differ_often() -> None:
    found: dict[str, set[Emotion]] = {}
    for article in FILES["train"]:
        for entity in article.entities or ():
            found.setdefault(entity.name, set()).add(entity.emotion)
    returning = [name for name, count in IN_TRAIN.items() if count > 1]
    assert sum(len(found[name]) > 1 for name in returning) / len(returning) >= 0.4


@pytest.mark.parametrize("file", SIZES)
def test_known_names_are_mentioned_in_passing_as_often_as_they_are_core(file: str) -> None:
    assert 0.8 <= len(passing(file)) / len(known(file)) <= 1.2


def test_figures_of_the_readme() -> None:
    articles = [article for found in FILES.values() for article in found]
    names = occurrences(articles)
    emotions = Counter(entity.emotion for article in articles for entity in article.entities or ())
    differing = sum(len({entity.emotion for entity in article.entities or ()}) > 1 for article in articles)
    titled = sum(name in article.title for article in articles for name in gold(article))
    once = sum(text(article).count(name) == 1 for article in articles for name in gold(article))
    assert differing / len(articles) == pytest.approx(0.23, abs=0.01)
    assert titled / len(names) == pytest.approx(0.67, abs=0.01)
    assert once / len(names) == pytest.approx(0.14, abs=0.01)
    assert [round(emotions[emotion] / len(names), 2) for emotion in Emotion] == [0.49, 0.32, 0.19]
    assert any(" " in name for name in names)
    assert any(character.isdigit() for name in names for character in name)
    assert any(f"《{name}》" in text(article) for article in articles for name in gold(article))


def test_no_near_duplicates_within_and_between_files() -> None:
    report = audit([SAMPLE / f"{name}.jsonl" for name in SIZES])
    assert [item.n_near_duplicates for item in report.files] == [0, 0, 0]
    assert report.overlaps == []
