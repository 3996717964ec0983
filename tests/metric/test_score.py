"""The score: cases worked by hand, a naive oracle, and properties that hold for every figure."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.metric import (
    FIGURES,
    PRF,
    article_scores,
    emotion_f1,
    entity_f1,
    evaluate,
    format_evaluation,
    hit_counts,
    mean_gain,
    paired_difference,
    ratio_gain,
)
from pipeline.schema import Emotion, Entity

POS, NORM, NEG = Emotion

Answers = dict[str, tuple[Entity, ...]]

names = st.sampled_from(["松果", "云杉", " 云杉 ", "Nova 2", "海棠路"])
entities = st.lists(st.builds(Entity, names, st.sampled_from(Emotion)), max_size=4)
answers = st.dictionaries(st.sampled_from(["a1", "a2", "a3", "a4"]), entities.map(tuple), max_size=4)
gold_answers = answers.filter(bool)


def ents(*pairs: tuple[str, Emotion]) -> tuple[Entity, ...]:
    return tuple(Entity(name, emotion) for name, emotion in pairs)


def names_of(some: list[Entity]) -> list[str]:
    return [entity.name for entity in some]


HAND_WORKED = {
    "one of two right": (ents(("松果", POS), ("云杉", NEG)), ents(("松果", POS), ("海棠", POS)), 1 / 2, 1 / 2),
    "emotions swapped": (ents(("松果", POS), ("云杉", NEG)), ents(("云杉", POS), ("松果", NEG)), 1.0, 0.0),
    "one of three found": (ents(("松果", POS), ("云杉", NEG), ("海棠", POS)), ents(("云杉", NEG)), 1 / 2, 1 / 2),
    "two surplus": (ents(("松果", POS)), ents(("松果", NORM), ("云杉", NEG), ("海棠", POS)), 1 / 2, 0.0),
    "repeat counts once": (ents(("松果", POS), ("云杉", NEG)), ents(("松果", POS), ("松果", POS)), 2 / 3, 2 / 3),
    "two emotions are two pairs": (ents(("松果", POS)), ents(("松果", POS), ("松果", NEG)), 1.0, 2 / 3),
    "outer blanks do not count": (ents((" 松果\u3000", POS)), ents(("松果 ", POS)), 1.0, 1.0),
    "inner blanks and case do": (ents(("Nova 2", POS)), ents(("Nova2", POS), ("nova 2", POS)), 0.0, 0.0),
    "both empty": ((), (), 1.0, 1.0),
    "answer empty": (ents(("松果", POS)), (), 0.0, 0.0),
    "gold empty": ((), ents(("松果", POS)), 0.0, 0.0),
}


@pytest.mark.parametrize("case", HAND_WORKED)
def test_f1_of_one_article_worked_by_hand(case: str) -> None:
    gold, pred, entity, emotion = HAND_WORKED[case]
    assert entity_f1((e.name for e in gold), (e.name for e in pred)) == pytest.approx(entity)
    assert emotion_f1(gold, iter(pred)) == pytest.approx(emotion)
    result = evaluate({"a1": gold}, {"a1": pred}, n_resamples=0)
    assert (result.entity_f1, result.emotion_f1) == pytest.approx((entity, emotion))
    assert result.score == pytest.approx((entity + emotion) / 2)


GOLD: Answers = {
    "a1": ents(("松果", POS), ("云杉", NORM)),
    "a2": ents(("海棠路", NEG)),
    "a3": ents(("Nova 2", POS)),
    "a4": (),
}
PRED: Answers = {
    "a1": ents(("松果", POS), ("云杉", NEG)),
    "a2": ents(("海棠路", NEG), ("松果", POS)),
    "a4": (),
    "zz": ents(("云杉", POS)),
}


def test_evaluate_counts_articles_hits_and_emotions() -> None:
    result = evaluate(GOLD, PRED, n_resamples=0)
    assert (result.n_articles, result.n_missing, result.n_unexpected) == (4, 1, 1)
    assert result.entity_f1 == pytest.approx((1 + 2 / 3 + 0 + 1) / 4)
    assert result.emotion_f1 == pytest.approx((1 / 2 + 2 / 3 + 0 + 1) / 4)
    assert result.micro_entity == PRF(hits=3, n_pred=4, n_gold=4)
    assert result.micro_emotion == PRF(hits=2, n_pred=4, n_gold=4)
    assert result.n_hits == 3
    assert result.emotion_accuracy == pytest.approx(2 / 3)
    assert result.all_pos_accuracy == pytest.approx(1 / 3)
    assert result.per_emotion == {POS: PRF(1, 2, 2), NORM: PRF(0, 0, 1), NEG: PRF(1, 2, 1)}
    assert result.intervals == {}


def test_answering_every_emotion_is_not_a_right_emotion() -> None:
    result = evaluate({"a1": ents(("松果", POS))}, {"a1": ents(("松果", POS), ("松果", NEG))})
    assert (result.n_hits, result.emotion_accuracy, result.all_pos_accuracy) == (1, 0.0, 1.0)


def test_accuracies_are_none_without_a_hit() -> None:
    result = evaluate({"a1": ents(("松果", POS))}, {})
    assert (result.n_hits, result.emotion_accuracy, result.all_pos_accuracy) == (0, None, None)


def test_empty_gold_is_refused() -> None:
    with pytest.raises(DataError, match="no gold article"):
        evaluate({}, {"a1": ()})


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        (PRF(), 1.0, 1.0, 1.0),
        (PRF(0, 2, 0), 0.0, 0.0, 0.0),
        (PRF(0, 0, 2), 0.0, 0.0, 0.0),
        (PRF(1, 2, 4) + PRF(1, 0, 0), 1.0, 0.5, 2 / 3),
    ],
)
def test_prf_adds_counts_and_decides_zero_over_zero(counts: PRF, precision: float, recall: float, f1: float) -> None:
    assert (counts.precision, counts.recall, counts.f1) == pytest.approx((precision, recall, f1))


def naive_f1(gold: list[object], pred: list[object]) -> float:
    """Count by double loop over lists without repeats; no sets, no shared code."""
    gold_once = [item for i, item in enumerate(gold) if item not in gold[:i]]
    pred_once = [item for i, item in enumerate(pred) if item not in pred[:i]]
    hits = 0
    for wanted in gold_once:
        for given_item in pred_once:
            hits += wanted == given_item
    if not gold_once and not pred_once:
        return 1.0
    if not hits:
        return 0.0
    precision, recall = hits / len(pred_once), hits / len(gold_once)
    return 2 * precision * recall / (precision + recall)


@given(gold=gold_answers, pred=answers)
def test_evaluate_agrees_with_a_naive_double_loop(gold: Answers, pred: Answers) -> None:
    entity, emotion = [], []
    for news_id, wanted in gold.items():
        answer = pred.get(news_id, ())
        entity.append(naive_f1([e.name.strip() for e in wanted], [e.name.strip() for e in answer]))
        pairs = [[(e.name.strip(), e.emotion) for e in side] for side in (wanted, answer)]
        emotion.append(naive_f1(pairs[0], pairs[1]))
    result = evaluate(gold, pred, n_resamples=0)
    assert result.entity_f1 == pytest.approx(sum(entity) / len(gold))
    assert result.emotion_f1 == pytest.approx(sum(emotion) / len(gold))
    assert result.score == pytest.approx((sum(entity) + sum(emotion)) / len(gold) / 2)


# Every per-article figure as a function of two lists of entities; a property is one test over the table.
METRICS: dict[str, Callable[[list[Entity], list[Entity]], float]] = {
    "entity_f1": lambda gold, pred: entity_f1(names_of(gold), names_of(pred)),
    "emotion_f1": emotion_f1,
    "score": lambda gold, pred: evaluate({"a": gold}, {"a": pred}, n_resamples=0).score,
    "micro_entity": lambda gold, pred: evaluate({"a": gold}, {"a": pred}, n_resamples=0).micro_entity.f1,
    "micro_emotion": lambda gold, pred: evaluate({"a": gold}, {"a": pred}, n_resamples=0).micro_emotion.f1,
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@every_metric
@given(gold=entities, pred=entities)
def test_is_bounded_and_symmetric(metric: Callable[..., float], gold: list[Entity], pred: list[Entity]) -> None:
    assert 0.0 <= metric(gold, pred) <= 1.0
    assert metric(gold, pred) == metric(pred, gold)


@every_metric
@given(gold=entities, pred=entities, data=st.data())
def test_ignores_order_and_repeats(
    metric: Callable[..., float], gold: list[Entity], pred: list[Entity], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(pred))
    assert metric(gold, [*shuffled, *pred]) == metric(gold, pred)


@every_metric
@given(gold=entities)
def test_a_perfect_answer_scores_one(metric: Callable[..., float], gold: list[Entity]) -> None:
    assert metric(gold, gold) == 1.0


@every_metric
@given(gold=entities, pred=entities, emotion=st.sampled_from(Emotion))
def test_a_wrong_extra_entity_never_helps(
    metric: Callable[..., float], gold: list[Entity], pred: list[Entity], emotion: Emotion
) -> None:
    assert metric(gold, [*pred, Entity("不存在", emotion)]) <= metric(gold, pred)


@every_metric
@given(gold=entities.filter(bool), pred=entities)
def test_a_right_extra_entity_never_hurts(metric: Callable[..., float], gold: list[Entity], pred: list[Entity]) -> None:
    # Named correctly where the name was not given yet: with a second emotion it would be a new, wrong pair.
    extra = gold[0]
    rest = [entity for entity in pred if entity.name.strip() != extra.name.strip()]
    assert metric(gold, [*rest, extra]) >= metric(gold, rest)


@given(gold=gold_answers, pred=answers)
def test_evaluate_depends_on_no_mapping_order(gold: Answers, pred: Answers) -> None:
    backwards = evaluate(dict(reversed(gold.items())), dict(reversed(pred.items())), n_resamples=20)
    assert backwards.to_dict() == evaluate(gold, pred, n_resamples=20).to_dict()


def many_articles(n_articles: int) -> tuple[Answers, Answers]:
    """Gold of one entity each; every other article is answered rightly."""
    gold = {f"n{i:03}": ents((f"第{i}号", POS)) for i in range(n_articles)}
    return gold, {news_id: gold[news_id] for i, news_id in enumerate(gold) if i % 2}


def test_intervals_are_seeded_and_as_wide_as_theory_says() -> None:
    gold, pred = many_articles(400)
    result = evaluate(gold, pred, n_resamples=2000, seed=3)
    low, high = result.intervals["score"]
    # Half of 400 articles score 1: standard error sqrt(0.25 / 400) = 0.025, so 0.5 +- 1.96 * 0.025.
    assert low == pytest.approx(0.451, abs=0.006)
    assert high == pytest.approx(0.549, abs=0.006)
    assert tuple(result.intervals) == FIGURES
    assert result == evaluate(gold, pred, n_resamples=2000, seed=3)
    assert result.intervals != evaluate(gold, pred, n_resamples=2000, seed=4).intervals


def test_interval_of_equal_articles_is_a_point() -> None:
    gold, _ = many_articles(5)
    assert set(evaluate(gold, gold).intervals.values()) == {(1.0, 1.0)}


def test_paired_difference_resamples_the_same_articles() -> None:
    gold, half = many_articles(100)
    better = half | {"n000": gold["n000"]}
    same = paired_difference(gold, half, half)
    assert {tuple(difference) for difference in same.values()} == {(0.0, 0.0, 0.0, 0.0)}
    gain = paired_difference(gold, half, better)["score"]
    # Only one article differs: pairing leaves an interval far narrower than that of either score.
    assert gain.delta == pytest.approx(0.01)
    assert gain.low == 0.0
    assert 0.01 < gain.high <= 0.05
    assert 0.5 < gain.share_better < 0.75  # P(the article is drawn) = 1 - 1/e = 0.63
    loss = paired_difference(gold, better, half)["score"]
    assert (loss.delta, loss.low, loss.high) == pytest.approx((-gain.delta, -gain.high, 0.0))


def test_a_mean_gain_is_the_paired_difference() -> None:
    gain = article_scores(GOLD, PRED)[1] - article_scores(GOLD, {})[1]
    assert mean_gain(gain, n_resamples=50, seed=3) == paired_difference(GOLD, {}, PRED, n_resamples=50, seed=3)


@given(gold_answers, answers)
def test_hit_counts_add_up_to_the_accuracy(gold: Answers, pred: Answers) -> None:
    right, hits = hit_counts(gold, pred).sum(0)
    found = evaluate(gold, pred, n_resamples=0)
    assert hits == found.n_hits
    assert found.emotion_accuracy == (right / hits if hits else None)


def test_a_ratio_gain_pools_before_it_divides() -> None:
    base, other = np.array([[1.0, 1.0], [0.0, 3.0]]), np.array([[1.0, 1.0], [2.0, 3.0]])
    gain = ratio_gain(base, other, n_resamples=200)
    assert gain.delta == pytest.approx(3 / 4 - 1 / 4)
    assert gain.low == 0.0  # the first article drawn twice
    assert gain.high == pytest.approx(2 / 3)  # the second
    nothing = np.zeros((2, 2))
    assert ratio_gain(nothing, nothing, n_resamples=5) == (0.0, 0.0, 0.0, 0.0)


def test_article_scores_are_in_order_of_id() -> None:
    ids, scores = article_scores(GOLD, PRED)
    assert ids == ["a1", "a2", "a3", "a4"]
    np.testing.assert_allclose(scores, [[1, 1 / 2], [2 / 3, 2 / 3], [0, 0], [1, 1]])


def test_to_dict_is_json_with_six_places() -> None:
    figures = evaluate(GOLD, PRED, n_resamples=10).to_dict()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["entity_f1"] == 0.666667
    assert figures["hits"] == {"n": 3, "emotion_accuracy": 0.666667, "all_pos_accuracy": 0.333333}
    assert figures["per_emotion"]["NEG"]["precision"] == 0.5
    assert list(figures["interval_95"]) == list(FIGURES)


def test_format_evaluation_shows_the_figures() -> None:
    lines = format_evaluation(evaluate(GOLD, PRED, n_resamples=50)).splitlines()
    assert lines[0] == "4 gold articles; 1 missing from the prediction, 1 predicted but not in gold"
    assert any(line.split()[:2] == ["score", "0.6042"] and " - " in line for line in lines)
    assert any(line.split() == ["NEG", "0.5000", "1.0000", "0.6667", "1", "2", "1"] for line in lines)
    assert lines[-1] == "emotion accuracy on 3 hit entities: 66.7% (answering POS always: 33.3%)"
    assert format_evaluation(evaluate(GOLD, {}, n_resamples=0)).endswith("0 hit entities: - (answering POS always: -)")
