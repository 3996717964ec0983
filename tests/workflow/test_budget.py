"""A training's sizes from a time: never over it but at the floor, more time never less work, no time no change."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import Config, flat_options, load_config
from pipeline.workflow.budget import LEAST_RANKED, LEAST_TAGGED, Plan, plan_sizes, with_options
from pipeline.workflow.estimates import (
    Costs,
    DataSizes,
    LearningCost,
    MemberCosts,
    RerankCosts,
    TaggerCosts,
)

TAGGER = TaggerCosts(
    training=2.0,
    learning={(2, True): LearningCost(1e-3), (4, False): LearningCost(4e-4, 3e-4)},
    predict=4e-4,
    save=3.0,
)
RERANK = RerankCosts(
    fit=8.0,
    fit_article=0.03,
    load=1.0,
    article=0.03,
    n_candidates=150.0,
    n_gold=2.0,
    n_features=77,
    bin_row=5e-6,
    tree=1e-3,
    tree_row=1.5e-7,
    mine=4e-8,
    score=8e-8,
    rule=1e-3,
)
MEMBERS = {"tfidf": MemberCosts(training=0.0, example=2e-3, predict=1e-3, once=1e-3)}
COSTS = Costs(TAGGER, RERANK, MEMBERS, seconds=20.0, n_articles=240)
CPU = load_config(preset="cpu")


def articles(n: int, length: int = 1000) -> DataSizes:
    return DataSizes((length,) * n, n * length * 3, 2 * n)


def planned(minutes: float, n: int = 40_000, config: Config = CPU, fixed: tuple[str, ...] = ()) -> Plan:
    return plan_sizes(config, articles(n), COSTS, minutes, fixed, cores=2)


def changed(plan: Plan, config: Config = CPU) -> dict[str, Any]:
    before, after = flat_options(config.to_dict()), flat_options(plan.config.to_dict())
    return {name: value for name, value in after.items() if value != before[name]}


SMALLEST = {
    "n_folds": 3,
    "rerank.n_bags": 1,
    "rerank.n_estimators": 400,
    "rerank.learning_rate": 0.06,
    "tagger.freeze_layers": 4,
    "tagger.frozen_dropout": False,
    "tagger.train_tokens": 128,
    "tagger.predict_chars": 256,
    "tagger.train_articles": LEAST_TAGGED,
    "rerank.mining_articles": 4000,
    "rerank.n_hard_negatives": 10,
    "rerank.other_negatives": 0.05,
    "rerank.train_articles": LEAST_RANKED,
}


def test_without_a_time_nothing_changes() -> None:
    plan = planned(0.0)
    assert (plan.config, plan.decisions, plan.fits) == (CPU, (), True)
    assert [stage.stage for stage in plan.stages] == ["tagger", "rerank", "sentiment"]


def test_what_fits_is_left_as_it_is_and_said() -> None:
    plan = planned(planned(0.0).seconds / 60 + 1)
    assert changed(plan) == {}
    assert "nothing has to be cut" in plan.lines()[0]


def test_what_loses_least_is_cut_first_and_no_more_than_needed() -> None:
    whole = planned(0.0).seconds / 60
    assert changed(planned(whole - 1)) == {"n_folds": 3}
    cut: list[set[str]] = [set(changed(planned(whole * share))) for share in (0.9, 0.5, 0.3, 0.2, 0.1, 0.05, 0.001)]
    assert all(less <= more for less, more in pairwise(cut))
    assert changed(planned(whole * 0.001)) == SMALLEST


def test_the_smallest_plan_is_taken_and_by_how_much_it_is_over_is_said() -> None:
    plan = planned(0.1)
    assert not plan.fits
    over = plan.seconds / 60 - 0.1
    assert any(f"{over:.1f} more; it is taken all the same" in line for line in plan.lines())


def test_a_decision_names_old_and_new_values_and_why() -> None:
    lines = planned(30.0).lines()
    assert "budget of 30 min: n_folds 5 -> 3: with so many articles three folds are enough" in lines
    assert any(line.startswith("budget of 30 min: tagger.train_articles 0 -> ") for line in lines)


def test_few_articles_keep_their_folds_and_are_all_learnt_from() -> None:
    assert not {"n_folds", "tagger.train_articles", "rerank.train_articles"} & set(changed(planned(0.1, n=900)))


def test_options_that_were_given_stay() -> None:
    fixed = ("n_folds", "rerank.learning_rate", "tagger.train_articles")
    found = changed(planned(0.1, fixed=fixed))
    assert found == {
        name: value
        for name, value in SMALLEST.items()
        if name not in {*fixed, "rerank.n_bags", "rerank.n_estimators"}  # one decision with the learning rate
    }


def test_an_encoder_that_was_not_tried_frozen_is_not_frozen() -> None:
    costs = replace(COSTS, tagger=replace(TAGGER, learning={(2, True): LearningCost(1e-3)}))
    plan = plan_sizes(CPU, articles(40_000), costs, 0.1, cores=2)
    assert not {"tagger.freeze_layers", "tagger.frozen_dropout"} & set(changed(plan))


def test_a_run_without_a_tagger_is_cut_elsewhere() -> None:
    fast = load_config(preset="fast")
    plan = plan_sizes(fast, articles(40_000), replace(COSTS, tagger=None), 0.1, cores=2)
    assert {name.partition(".")[0] for name in changed(plan, fast)} == {"n_folds", "rerank"}


def test_what_a_run_keeps_of_the_plan() -> None:
    plan = planned(30.0)
    kept = plan.to_dict()
    assert (kept["minutes"], kept["changed"]) == (30.0, changed(plan))
    assert sum(kept["estimated_minutes"].values()) == pytest.approx(plan.seconds / 60, abs=0.1)
    assert with_options(CPU, kept["changed"]) == plan.config


SEVERAL = st.integers(20, 12_000)
COST = st.floats(1e-9, 1e-2)
PRESETS = st.sampled_from([load_config(preset=name) for name in ("best", "cpu", "fast", "paper")])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Config, DataSizes, Costs]:
    config, key = draw(PRESETS), {(2, True), (4, False), (6, True)}
    learning = {one: LearningCost(draw(COST), draw(COST)) for one in key}
    tagger = TaggerCosts(draw(COST), learning, draw(COST), draw(COST))
    rerank = replace(RERANK, article=draw(COST), tree_row=draw(COST) / 1e3, bin_row=draw(COST), score=draw(COST) / 1e3)
    workers = draw(st.integers(1, 8))
    return replace(config, workers=workers), articles(draw(SEVERAL)), Costs(tagger, rerank, MEMBERS)


def amounts(plan: Plan, n: int) -> dict[str, float]:
    options = plan.config
    return {
        "tagger": options.tagger.train_articles or n,
        "mining": options.rerank.mining_articles or n,
        "trees": options.rerank.train_articles or n,
        "folds": options.n_folds,
        "negatives": options.rerank.n_hard_negatives,
    }


@given(cases(), st.floats(0.01, 1e5), st.floats(1.0, 50.0))
def test_more_minutes_never_mean_less_work_and_a_plan_fits_or_is_the_smallest(
    case: tuple[Config, DataSizes, Costs], minutes: float, times: float
) -> None:
    config, sizes, costs = case
    less, more = (plan_sizes(config, sizes, costs, time, cores=4) for time in (minutes, minutes * times))
    ours, theirs = amounts(less, sizes.n_articles), amounts(more, sizes.n_articles)
    assert all(ours[name] <= theirs[name] for name in ours)
    smallest = plan_sizes(config, sizes, costs, 1e-9, cores=4)
    assert less.fits or less.config == smallest.config
    assert more.fits or not less.fits
