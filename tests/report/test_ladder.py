from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.metric import emotion_f1, entity_f1
from pipeline.report.ladder import (
    CANDIDATES,
    EMOTION,
    HUMAN,
    IDEALISATIONS,
    MOST_FREQUENT,
    N_DRAWS,
    NUMBER,
    RANDOM,
    RANKING,
    REAL,
    ROWS,
    STAGES,
    Answer,
    answer,
    article_scores,
    human_row,
    ladder,
)
from pipeline.report.outcome import Outcome, Standing
from pipeline.schema import EMOTIONS, Entity
from tests.support.outcomes import NEG, NORM, POS, outcome, outcomes

SHARES = np.array([0.5, 0.3, 0.2])
GOLD = {"松果": POS, "云杉": NEG, "银杏": NORM}
# 松果 is hit with the wrong emotion, 云杉 ranked out, 银杏 never offered; the second answer is spurious.
EXAMPLE = outcome(
    GOLD,
    ranks={"松果": 0, "云杉": 4},
    n_chosen=2,
    in_text=["松果", "云杉", "银杏"],
    with_gold=Standing({"银杏": 0, "松果": 1, "云杉": 5}, ("银杏", "松果"), 3),
    emotions={"松果": NORM, "云杉": NEG, "银杏": NORM},
    frequent=["云杉", "海棠"],
)


def scores(found: Outcome) -> dict[str, tuple[float, float]]:
    rows = article_scores(found, SHARES, seed=7, news_id="a1")
    return {key: (float(row[0]), float(row[1])) for key, row in zip(ROWS, rows, strict=True)}


def test_each_row_of_an_article_worked_by_hand() -> None:
    found = scores(EXAMPLE)
    assert found[REAL] == pytest.approx((2 * 1 / 5, 0))
    assert found[CANDIDATES] == pytest.approx((2 * 2 / 6, 2 * 1 / 6))
    assert found[RANKING] == pytest.approx((2 * 2 / 5, 2 * 1 / 5))
    assert found[NUMBER] == pytest.approx((2 * 1 / 6, 0))
    assert found[EMOTION] == pytest.approx((2 * 1 / 5, 2 * 1 / 5))
    assert found[f"{RANKING}+{NUMBER}"] == pytest.approx((2 * 2 / 5, 2 * 1 / 5))
    assert found[f"{CANDIDATES}+{RANKING}"] == pytest.approx((2 * 2 / 5, 2 * 1 / 5))
    assert found[f"{CANDIDATES}+{RANKING}+{NUMBER}"] == pytest.approx((1, 2 * 2 / 6))
    assert found[f"{CANDIDATES}+{RANKING}+{NUMBER}+{EMOTION}"] == (1, 1)
    assert found[MOST_FREQUENT] == pytest.approx((2 * 1 / 5, 0))  # the majority emotion is POS


def test_a_perfect_ranking_keeps_the_hits_it_has() -> None:
    found = outcome(GOLD, ranks={"松果": 1, "云杉": 0, "银杏": 2}, n_chosen=2)
    assert answer(found, [RANKING]) == Answer(("云杉", "松果"), 2)


def test_a_perfect_number_stops_at_three() -> None:
    names = ["松果", "云杉", "银杏", "海棠"]
    found = outcome(dict.fromkeys(names, POS), ranks={name: place for place, name in enumerate(names)}, n_chosen=1)
    assert answer(found, [NUMBER]) == Answer(tuple(names[:3]), 3)
    assert answer(found, [RANKING, NUMBER]) == Answer(tuple(names[:3]), 3)


def test_an_article_without_gold_is_right_only_if_nothing_is_answered() -> None:
    found = scores(outcome({}, ranks={}, n_chosen=2))
    assert found[REAL] == (0, 0)
    assert found[NUMBER] == (1, 1)


@given(outcomes())
def test_the_ladder_is_monotone_where_it_must_be(found: Outcome) -> None:
    rows = scores(found)
    keys = {frozenset(parts): "+".join(parts) or REAL for size in range(5) for parts in combinations(STAGES, size)}
    assert set(keys.values()) == set(ROWS) - {RANDOM, MOST_FREQUENT}
    n_compared = 0
    for less, low in keys.items():
        for more, high in keys.items():
            if not less < more:
                continue
            added = more - less
            # A perfect ranking keeps the number of the real answer, which more candidates or a true number may change.
            joins_ranking = RANKING in less or (RANKING in added and not less & {CANDIDATES, NUMBER})
            if added == {EMOTION} or joins_ranking:
                n_compared += 1
                assert rows[high][0] >= rows[low][0] - 1e-12, (low, high)
                if added == {EMOTION} or EMOTION in more or NUMBER not in more:
                    assert rows[high][1] >= rows[low][1] - 1e-12, (low, high)
    assert n_compared == 35


@given(outcomes())
def test_everything_perfect_is_the_ceiling(found: Outcome) -> None:
    rows = scores(found)
    top = rows["+".join(STAGES)]
    for key in ROWS:
        if key not in (RANDOM, MOST_FREQUENT) and found.gold:
            assert rows[key][0] <= top[0] + 1e-12
            assert rows[key][1] <= top[1] + 1e-12
    n_found = min(len(found.in_text), 3)
    want = 2 * n_found / (n_found + len(found.gold)) if found.gold else 1
    assert top == pytest.approx((want, want))


@given(outcomes())
def test_the_real_row_is_the_metric(found: Outcome) -> None:
    spurious = [f"无{number}" for number in range(found.standing.n_chosen - len(found.standing.hits))]
    pred = [Entity(name, found.emotions[name]) for name in found.standing.hits]
    pred += [Entity(name, POS) for name in spurious]
    want = (
        entity_f1((entity.name for entity in found.gold), (entity.name for entity in pred)),
        emotion_f1(found.gold, pred),
    )
    assert scores(found)[REAL] == pytest.approx(want)


@given(outcomes())
def test_perfect_emotions_leave_no_gap(found: Outcome) -> None:
    for key, (entity, emotion) in scores(found).items():
        if EMOTION in key:
            assert emotion == entity


def test_random_draws_are_seeded_and_near_their_expectation() -> None:
    found = outcome({"松果": POS}, ranks={"松果": 0}, n_chosen=1)
    rows = [article_scores(found, SHARES, seed=7, news_id=f"a{n}")[ROWS.index(RANDOM)] for n in range(300)]
    again = article_scores(found, SHARES, seed=7, news_id="a0")[ROWS.index(RANDOM)]
    assert again.tolist() == rows[0].tolist()
    entity, emotion = np.mean(rows, axis=0)
    n_drawn = 300 * N_DRAWS
    assert entity == pytest.approx(1 / 20, abs=4 * (0.05 * 0.95 / n_drawn) ** 0.5)  # one name of 20 candidates
    assert emotion == pytest.approx(0.5 / 20, abs=4 * (0.025 * 0.975 / n_drawn) ** 0.5)


def test_ladder_states_means_costs_and_intervals() -> None:
    articles = [EXAMPLE, outcome({"松果": POS}, ranks={"松果": 0}, n_chosen=1)]
    table = np.stack([article_scores(found, SHARES, seed=7, news_id="a") for found in articles])
    rows = {row["key"]: row for row in ladder(table, n_resamples=50)}
    assert list(rows) == [*ROWS]
    assert rows[REAL]["score"]["value"] == pytest.approx((0.4 + 0 + 2) / 4)
    assert rows[REAL]["cost"] is None
    assert rows[EMOTION]["cost"] == pytest.approx(100 * 0.4 / 4)
    assert rows[EMOTION]["cost_interval"] == {"value": pytest.approx(10), "low": 0, "high": pytest.approx(20)}
    assert rows[f"{RANKING}+{EMOTION}"]["cost"] is None
    for row in rows.values():
        if row["score"]["low"] is not None:
            assert row["score"]["low"] <= row["score"]["value"] <= row["score"]["high"]


@given(st.lists(outcomes(), min_size=1, max_size=5))
def test_the_ladder_is_the_mean_of_its_articles(found: list[Outcome]) -> None:
    table = np.stack([article_scores(item, SHARES, seed=7, news_id="a") for item in found])
    for row, column in zip(ladder(table, n_resamples=2), table.mean(axis=0), strict=False):
        assert row["entity_f1"]["value"] == pytest.approx(column[0], abs=1e-6)
        assert row["score"]["value"] == pytest.approx(column.mean(), abs=1e-6)


def test_people_agree_as_the_source_has_it() -> None:
    row = human_row()
    assert row["key"] == HUMAN
    assert [row[name]["value"] for name in ("entity_f1", "emotion_f1", "score")] == [0.66, 0.55, 0.605]
    assert (row["score"]["low"], row["score"]["high"]) == (None, None)
    assert "17 pairs" in row["source"]


def test_every_combination_has_a_row() -> None:
    assert len(IDEALISATIONS) == 2 ** len(STAGES) - 1
    assert len(EMOTIONS) == len(SHARES)
