from __future__ import annotations

from pipeline.report.build import Analyst
from pipeline.report.outcome import gold_entities, outcome_of
from pipeline.schema import Article, Emotion, Entity

POS = Emotion.POS


def article(title: str, content: str, *names: str) -> Article:
    return Article("a1", title, content, tuple(Entity(name, POS) for name in names))


def outcome(analyst: Analyst, given: Article):
    return outcome_of(analyst.predictor, analyst.predictor.trace([given])[0], dict.fromkeys(names_of(given), POS))


def names_of(given: Article) -> list[str]:
    return [entity.name for entity in gold_entities(given)]


def test_sets_shrink_from_stage_to_stage(analyst: Analyst, gold: list[Article]) -> None:
    for given in gold[:20]:
        found = outcome(analyst, given)
        assert found.kept <= found.offered <= found.in_text
        assert set(found.standing.ranks) <= found.kept
        assert set(found.standing.hits) <= found.kept
        assert found.in_text == found.offered | set(found.not_offered)
        assert len(found.frequent) <= 3


def test_a_gold_name_that_nothing_offers_is_ranked_among_the_others(analyst: Analyst) -> None:
    found = outcome(analyst, article("砚台超市开业", "砚台超市今天开业，很好。", "台超", "砚台超市", "没有"))
    assert found.in_text == {"台超", "砚台超市"}
    assert found.offered == found.kept == {"砚台超市"}
    assert set(found.standing.ranks) == {"砚台超市"}
    assert set(found.with_gold.ranks) == {"砚台超市", "台超"}
    assert found.not_offered == {"台超": "not_candidate_segmentation"}


def test_gold_in_another_spelling_than_the_answers(analyst: Analyst) -> None:
    """Nova stands twice, NOVA once: the candidate is written Nova, but a perfect one would have the gold spelling."""
    given = article("Nova发布", "Nova很好，NOVA也很好。", "NOVA")
    found = outcome(analyst, given)
    assert found.in_text == {"NOVA"}
    assert found.offered == frozenset()
    assert found.not_offered == {"NOVA": "not_candidate_boundary"}
    assert found.standing.hits == ()
    assert set(found.with_gold.ranks) == {"NOVA"}


def test_gold_in_a_spelling_that_the_text_does_not_have(analyst: Analyst) -> None:
    found = outcome(analyst, article("Nova发布", "Nova很好。", "NOVA"))
    assert found.in_text == frozenset()
    assert found.with_gold.ranks == {}


def test_without_gold_there_is_nothing_to_lose(analyst: Analyst) -> None:
    found = outcome(analyst, article("砚台超市开业", "砚台超市今天开业。"))
    assert found.names == ()
    assert found.standing.hits == ()
    assert found.standing.n_chosen > 0


def test_names_are_trimmed_as_the_metric_does() -> None:
    assert gold_entities(article("", "", " 砚台 ", "砚台")) == (Entity("砚台", POS),)
