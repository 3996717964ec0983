"""The values that travel through the pipeline keep their invariants."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from pipeline.schema import (
    EMOTIONS,
    MAX_ENTITIES,
    Article,
    ChosenEntity,
    Emotion,
    Entity,
    Mention,
    Prediction,
    RunnerUp,
    Target,
)


def chosen(name: str) -> ChosenEntity:
    return ChosenEntity(name, Emotion.POS, 0.5, (0.5, 0.25, 0.25))


def test_emotions_are_ordered_strings() -> None:
    assert EMOTIONS == (Emotion.POS, Emotion.NORM, Emotion.NEG) == ("POS", "NORM", "NEG")
    assert f"{Emotion.NEG}" == "NEG"
    assert Emotion("NORM") is Emotion.NORM
    with pytest.raises(ValueError, match="POSS"):
        Emotion("POSS")


def test_fields_of_an_article() -> None:
    article = Article("1", "题", "文")
    assert [article.field("title"), article.field("content")] == ["题", "文"]
    assert article.entities is None
    assert not article.truncated


@pytest.mark.parametrize(
    ("value", "field"),
    [(Article("1", "", ""), "title"), (Entity("松果", Emotion.POS), "name"), (chosen("松果"), "score")],
)
def test_values_cannot_be_changed(value: object, field: str) -> None:
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{field}'"):
        setattr(value, field, "云杉")


@pytest.mark.parametrize(("start", "end"), [(0, 0), (2, 1), (-1, 1)])
def test_empty_or_negative_mentions_are_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="empty or negative"):
        Mention("title", start, end, "松" * max(end - start, 0))


def test_a_surface_fits_its_span() -> None:
    assert Mention("content", 2, 4, "松果").surface == "松果"
    with pytest.raises(ValueError, match=r"surface '松' does not fit \[2, 4\)"):
        Mention("content", 2, 4, "松")


@pytest.mark.parametrize(
    ("start", "stop", "mentions"),
    [(-1, 1, ()), (2, 1, ()), (0, 5, ()), (0, 2, ((0, 2), (3, 5))), (0, 2, ((2, 1),)), (0, 2, ((-2, 2),))],
)
def test_targets_lie_inside_their_text(start: int, stop: int, mentions: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="lies outside its text"):
        Target("松果很好", start, stop, "松果", mentions=mentions)


def test_a_target_may_be_absent_or_reach_the_end() -> None:
    assert Target("松果很好", 0, 0, "云杉").emotion is None
    assert Target("松果", 0, 2, "松果", mentions=((0, 2),)).mentions == ((0, 2),)
    assert Target("", 0, 0, "云杉").text == ""


def test_a_prediction_has_at_most_three_entities() -> None:
    names = ["松果", "云杉", "海棠", "桦"]
    assert len(Prediction("a1", tuple(map(chosen, names[:MAX_ENTITIES]))).entities) == 3
    with pytest.raises(ValueError, match="a1: 4 entities, at most 3"):
        Prediction("a1", tuple(map(chosen, names)))


def test_a_prediction_repeats_no_entity() -> None:
    with pytest.raises(ValueError, match="a1: an entity is repeated"):
        Prediction("a1", (chosen("松果"), chosen("松果")))
    runners_up = (RunnerUp("松果", 0.1), RunnerUp("松果", 0.1))
    assert Prediction("a1", (), runners_up).runners_up == runners_up
