"""Minutes and memory of a stage, worked by hand from costs of one unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.config import Config, TaggerConfig, load_config
from pipeline.workflow.candidate_stage import MAX_PRUNER_ARTICLES
from pipeline.workflow.estimates import (
    COUNT_BYTES,
    MAIN_BYTES,
    NETWORK_BYTES,
    NONZERO_BYTES,
    NONZEROS_PER_CHARACTER,
    ROW_BYTES,
    START_NETWORK_S,
    START_S,
    TEXT_FACTOR,
    TREES_BYTES,
    WORKER_BYTES,
    Costs,
    DataSizes,
    LearningCost,
    MemberCosts,
    RerankCosts,
    StageEstimate,
    TaggerCosts,
    estimate,
)

SIZES = DataSizes((100,) * 400 + (300,) * 200, 400_000, 1000)
NOTHING = dict.fromkeys(("fit", "fit_article", "load", "article", "bin_row", "tree", "tree_row", "mine", "score"), 0.0)
RERANK = RerankCosts(**NOTHING, rule=0.0, n_candidates=100.0, n_gold=2.0, n_features=50)


def config(*overrides: str) -> Config:
    return load_config(preset="fast", overrides=["n_folds=4", "workers=2", *overrides])


def stage(config: Config, costs: Costs, sizes: DataSizes = SIZES, cores: int = 2) -> StageEstimate:
    (found,) = estimate(config, sizes, costs, cores=cores)
    return found


def test_characters_that_a_tagger_reads_are_counted_as_windows_are_drawn() -> None:
    tagger = TaggerConfig(train_window_tokens=128, train_tokens=256, title_tokens=10)
    # 100 characters: one window. 300: three of 100, two of which are drawn, and the second holds the title as well.
    assert SIZES.learnt(tagger) == (400 * 100 + 200 * 210) / 600
    assert SIZES.learnt(replace(tagger, train_tokens=128)) == 100
    assert SIZES.learnt(replace(tagger, train_tokens=0)) == (400 * 100 + 200 * 320) / 600
    assert SIZES.learnable(tagger) == (400 * 100 + 200 * 320) / 600
    assert SIZES.learnable(replace(tagger, train_tokens=128)) == 100  # the first window of each, and no other
    assert SIZES.tagged(replace(tagger, predict_chars=200)) == (400 * 100 + 200 * 200) / 600
    assert SIZES.tagged(replace(tagger, predict_chars=0)) == (400 * 100 + 200 * 300) / 600


class TestTagger:
    OPTIONS = (
        "tagger.name=lstm",
        "tagger.train_tokens=128",
        "tagger.training.max_epochs=2",
        "tagger.predict_chars=100",
    )
    COSTS = TaggerCosts(training=5.0, learning={(0, True): LearningCost(1e-3)}, predict=2e-3, save=7.0)

    def test_one_model_a_fold_and_one_on_all(self) -> None:
        found = stage(config(*self.OPTIONS), Costs(tagger=self.COSTS))
        fold = 5 + 450 * 2 * 100 * 1e-3 + 150 * 100 * 2e-3  # learns from 450 articles, tags 150
        final = 5 + 600 * 2 * 100 * 1e-3 + 7
        assert found.stage == "tagger"
        assert found.seconds == pytest.approx(START_NETWORK_S + 2 * fold + final)  # four folds by two, then the last
        assert found.cpu_seconds == pytest.approx(2 * START_NETWORK_S + 4 * fold + final)
        assert found.memory_bytes == MAIN_BYTES + TEXT_FACTOR * 400_000 + 2 * NETWORK_BYTES

    def test_fewer_articles_are_learnt_from_and_all_are_tagged(self) -> None:
        found = stage(config(*self.OPTIONS, "tagger.train_articles=200"), Costs(tagger=self.COSTS))
        fold, final = 5 + 200 * 2 * 100 * 1e-3 + 30, 5 + 200 * 2 * 100 * 1e-3 + 7
        assert found.cpu_seconds == pytest.approx(2 * START_NETWORK_S + 4 * fold + final)

    def test_frozen_layers_run_once_a_window(self) -> None:
        costs = replace(self.COSTS, learning={(0, False): LearningCost(1e-3, 1e-2)})
        options = (*self.OPTIONS, "tagger.frozen_dropout=false")
        more = stage(config(*options), Costs(tagger=costs)), stage(config(*self.OPTIONS), Costs(tagger=self.COSTS))
        # Not in each of five models and two epochs: the first windows hold 100 characters each.
        assert more[0].cpu_seconds - more[1].cpu_seconds == pytest.approx(1e-2 * 600 * 100)

    def test_processes_are_no_more_than_cores_and_the_joint_tagger_costs_the_same(self) -> None:
        found = stage(config(*self.OPTIONS), Costs(tagger=self.COSTS), cores=1)
        assert found.seconds == found.cpu_seconds
        joint = stage(config(*self.OPTIONS, "mode=joint", "joint.ranking=own"), Costs(tagger=self.COSTS), cores=1)
        assert (joint.stage, joint.seconds) == ("joint", found.seconds)


class TestRerank:
    def cpu(self, *overrides: str, sizes: DataSizes = SIZES, **costs: float) -> float:
        found = stage(config("rerank.n_estimators=10", *overrides), Costs(rerank=replace(RERANK, **costs)), sizes)
        return found.cpu_seconds - 4 * START_S

    def test_pruners_are_fitted_on_so_many_articles_at_the_most(self) -> None:
        assert self.cpu(fit=3.0, fit_article=1.0, load=2.0, article=5.0) == pytest.approx(3 + 600 + 4 + 3000)
        many = DataSizes((100,) * 9000, 0, 0)
        assert self.cpu(fit_article=1.0, sizes=many) == pytest.approx(MAX_PRUNER_ARTICLES)

    def test_trees_learn_from_what_the_first_model_leaves(self) -> None:
        trainings = 4 * 450 + 600
        # Of 98 wrong ones the 20 hardest, a tenth of the others, and both gold ones; the first model has 120 trees.
        assert self.cpu(tree_row=1e-6) == pytest.approx(trainings * (120 * 100 + 10 * (2 + 20 + 7.8)) * 1e-6)
        assert self.cpu(bin_row=1e-6) == pytest.approx(trainings * (100 + 29.8) * 1e-6)
        assert self.cpu(mine=1e-6) == pytest.approx(trainings * 120 * 100 * 1e-6)
        assert self.cpu("rerank.n_hard_negatives=0", tree_row=1e-6) == pytest.approx(trainings * 10 * 100 * 1e-6)
        assert self.cpu(tree=1.0) == 5 * (120 + 10)
        assert self.cpu("rerank.n_bags=3", score=1e-6) == pytest.approx(600 * 100 * 30 * 1e-6)
        assert self.cpu(rule=0.5) == 300

    def test_trees_of_fewer_articles(self) -> None:
        few = ("rerank.train_articles=200", "rerank.mining_articles=50")
        assert self.cpu(*few, tree_row=1e-6) == pytest.approx(5 * (50 * 120 * 100 + 200 * 10 * 29.8) * 1e-6)
        assert self.cpu(*few, mine=1e-6) == pytest.approx(5 * 200 * 120 * 100 * 1e-6)

    def test_memory_of_trees_is_a_byte_for_each_feature_of_a_row(self) -> None:
        many = DataSizes((1,) * 200_000, 0, 0)
        found = stage(config(), Costs(rerank=RERANK), many)
        base, learnt = MAIN_BYTES + WORKER_BYTES, ROW_BYTES * 200_000 * 29.8 * 50
        assert found.memory_bytes == pytest.approx(base + 2 * (TREES_BYTES + 200_000 * 100 * 50 + learnt))
        fewer = stage(config("rerank.mining_articles=100000"), Costs(rerank=RERANK), many)
        assert fewer.memory_bytes == pytest.approx(base + 2 * (TREES_BYTES + 100_000 * 100 * 50 + learnt))

    def test_parts_are_named_and_add_up(self) -> None:
        found = stage(config(), Costs(rerank=replace(RERANK, article=1.0, tree=1.0)))
        assert [name for name, _ in found.parts] == ["candidates and features", "trees"]
        assert sum(seconds for _, seconds in found.parts) == pytest.approx(found.seconds)


class TestSentiment:
    def test_a_linear_member_is_counted_once_and_fitted_once_more(self) -> None:
        cost = MemberCosts(training=1.0, example=0.01, predict=0.02, once=0.5)
        found = stage(config("sentiment.members=[tfidf]"), Costs(members={"tfidf": cost}))
        assert found.cpu_seconds == pytest.approx(2 * START_S + 5 * 1 + 4000 * 0.01 + 1000 * 0.02 + 500)

    def test_a_head_on_a_frozen_encoder_reads_once_and_its_fold_models_predict(self) -> None:
        cost = MemberCosts(
            training=1.0, example=0.01, predict=0.02, once=0.5, n_epochs=3, is_network=True, keeps_folds=True
        )
        found = stage(config("sentiment.members=[ian]"), Costs(members={"ian": cost}))
        assert found.cpu_seconds == pytest.approx(2 * START_NETWORK_S + 4 * 1 + 3000 * 3 * 0.01 + 1000 * 0.02 + 500)

    def test_the_text_of_an_article_is_held_once_for_all_its_entities(self) -> None:
        one, several = (
            stage(config(), Costs(members={"tfidf": MemberCosts(0.0, 0.0, 0.0)}), DataSizes((1000,) * 500, 0, n))
            for n in (500, 1000)
        )
        of_contexts = 500 * 200 * NONZEROS_PER_CHARACTER * (2 * NONZERO_BYTES + COUNT_BYTES)
        assert several.memory_bytes - one.memory_bytes == pytest.approx(of_contexts)

    def test_members_follow_one_another(self) -> None:
        cost = MemberCosts(training=1.0, example=0.0, predict=0.0)
        found = stage(config(), Costs(members={"tfidf": cost, "tfidf_nb": cost}))
        assert dict(found.parts) == {"tfidf": START_S + 3, "tfidf_nb": START_S + 3}
        assert found.seconds == 2 * (START_S + 3)
