from __future__ import annotations

from pipeline.report.topics import ALL, N_TERMS, terms_of, topics
from pipeline.text import default_segmenter

SUBJECTS = (["银行", "贷款", "利率"], ["球队", "教练", "联赛"], ["医院", "医生", "病人"])


def articles(n: int) -> list[dict[str, int]]:
    return [{term: 1 + (n + place) % 3 for place, term in enumerate(SUBJECTS[n % 3])} for n in range(n)]


def test_articles_of_a_subject_share_a_topic_named_after_its_terms() -> None:
    found = topics(articles(36), seed=7)
    assert len(set(found)) == 3
    for subject in range(3):
        (name,) = set(found[subject::3])
        assert set(name.split()) == set(SUBJECTS[subject])
    assert topics(articles(36), seed=7) == found


def test_too_few_articles_or_terms_make_one_topic() -> None:
    assert topics(articles(20), seed=7) == [ALL] * 20
    assert topics([{}] * 40, seed=7) == [ALL] * 40
    assert topics([], seed=7) == []


def test_an_article_without_terms_gets_some_topic() -> None:
    assert len(topics([*articles(36), {}], seed=7)) == 37


def test_terms_are_nouns_of_two_characters_or_more() -> None:
    segmenter = default_segmenter()
    words = ["银行", "银行", "跑", "非常", "球", "教练", "2019", "医院"] + [f"词{number}" for number in range(50)]
    found = terms_of(words, segmenter)
    assert next(iter(found)) == "银行"
    assert found["银行"] == 2
    assert {"跑", "非常", "球", "2019"}.isdisjoint(found)
    assert len(terms_of([word for word in words for _ in range(2)], segmenter)) <= N_TERMS
