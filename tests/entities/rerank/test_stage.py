"""The reranker as a stage: out-of-fold scores from models that never saw the fold, and what a run keeps of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import RerankConfig
from pipeline.entities.features import FeatureTable
from pipeline.entities.rerank import BoostedTrees, NumberRule, RerankStage, choose
from pipeline.errors import ArtifactError, DataError
from pipeline.metric import entity_f1

CONFIG = RerankConfig(n_estimators=15, learning_rate=0.2, num_leaves=7, min_child_samples=5)
N_ARTICLES = 60
FOLDS = [index % 3 for index in range(N_ARTICLES)]


def make_table(*, shift: int = 0) -> FeatureTable:
    """Articles of 4 to 9 candidates, one or two gold by the second column; one gold entity in four is no candidate."""
    rng = np.random.default_rng(0)
    keys, matrices, labels, firsts, n_gold = [], [], [], [], []
    for index in range(N_ARTICLES):
        n = int(rng.integers(4, 10)) if index != 7 else 0
        matrix = rng.normal(size=(n, 3)).astype(np.float32)
        gold = np.argsort(-matrix[:, 1])[: 1 + index % 2]
        label = np.isin(np.arange(n), gold).astype(np.float32)
        keys.append([f"名{index}{row}" for row in range(n)])
        matrices.append(matrix)
        labels.append(np.roll(label, shift if FOLDS[index] == 0 else 0))
        firsts.append(np.arange(n))
        n_gold.append(int(label.sum()) + (index % 4 == 0))
    news_ids = [f"a{index:02}" for index in range(N_ARTICLES)]
    return FeatureTable(["x.a", "x.b", "x.c"], news_ids, keys, firsts, matrices, labels, n_gold)


TABLE = make_table()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rerank")


@pytest.fixture(scope="module")
def stage(folder: Path) -> RerankStage:
    return RerankStage(CONFIG, seed=7).fit(TABLE, FOLDS, folder=folder)


def rows_outside(fold: int) -> list[int]:
    return [row for row in range(N_ARTICLES) if FOLDS[row] != fold]


def test_out_of_fold_probabilities_come_from_the_other_folds(stage: RerankStage) -> None:
    for fold in range(3):
        others = TABLE.select(rows_outside(fold))
        ranker = BoostedTrees(CONFIG, seed=7).fit(others.matrices, others.labels, others.names)
        for row in range(N_ARTICLES):
            if FOLDS[row] == fold:
                expected = stage.calibrator_.probs(ranker.score(TABLE.matrices[row]))
                np.testing.assert_allclose(stage.oof_probs_[row], expected, rtol=1e-12)


def test_labels_of_a_fold_do_not_reorder_its_own_candidates(stage: RerankStage, tmp_path: Path) -> None:
    other = RerankStage(CONFIG, seed=7).fit(make_table(shift=1), FOLDS, folder=tmp_path)
    changed = 0
    for row in range(N_ARTICLES):
        same = np.array_equal(np.argsort(stage.oof_probs_[row]), np.argsort(other.oof_probs_[row]))
        if FOLDS[row] == 0:
            assert same
        changed += not same
    assert changed


def test_figures_agree_with_choice_and_metric(stage: RerankStage) -> None:
    f1 = []
    for row, keys in enumerate(TABLE.keys):
        gold = {key for key, label in zip(keys, TABLE.labels[row], strict=True) if label}
        gold |= {f"missed {n}" for n in range(TABLE.n_gold[row] - len(gold))}
        chosen = choose(stage.oof_probs_[row], keys, TABLE.firsts[row], stage.rule_)
        assert bool(chosen) == bool(keys)
        f1.append(entity_f1(gold, [keys[index] for index in chosen]))
    assert stage.oof_entity_f1_ == pytest.approx(np.mean(f1), abs=1e-12)
    assert stage.oof_entity_f1_ > 0.6


def test_the_final_ranker_is_fitted_on_every_article(stage: RerankStage) -> None:
    ranker = BoostedTrees(CONFIG, seed=7).fit(TABLE.matrices, TABLE.labels, TABLE.names)
    matrix = TABLE.matrices[0]
    np.testing.assert_array_equal(stage.model_.score(matrix), ranker.score(matrix))
    np.testing.assert_array_equal(stage.probs(matrix), stage.calibrator_.probs(ranker.score(matrix)))
    assert stage.probs(np.empty((0, 3))).shape == (0,)


def test_max_entities_reaches_the_rule(tmp_path: Path) -> None:
    config = RerankConfig(n_estimators=5, min_child_samples=5, max_entities=1)
    stage = RerankStage(config, seed=7).fit(TABLE, FOLDS, folder=tmp_path)
    assert stage.rule_.max_entities == 1
    assert all(
        len(choose(stage.oof_probs_[row], TABLE.keys[row], TABLE.firsts[row], stage.rule_)) <= 1
        for row in range(N_ARTICLES)
    )


def test_lambdarank_runs_through_the_stage(tmp_path: Path) -> None:
    config = RerankConfig(objective="lambdarank", n_estimators=15, learning_rate=0.2, min_child_samples=5)
    assert RerankStage(config, seed=7).fit(TABLE, FOLDS, folder=tmp_path).oof_entity_f1_ > 0.6


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    table = replace(TABLE, labels=[label * 0 for label in TABLE.labels])
    with pytest.raises(DataError, match="no gold entity is among the candidates of its article"):
        RerankStage(CONFIG, seed=7).fit(table, FOLDS, folder=tmp_path)


def test_a_loaded_stage_answers_the_same(stage: RerankStage, folder: Path) -> None:
    again = RerankStage.load(folder, CONFIG, seed=7)
    assert again.rule_ == stage.rule_
    assert again.calibrator_ == stage.calibrator_
    for matrix in TABLE.matrices:
        np.testing.assert_array_equal(again.probs(matrix), stage.probs(matrix))


def test_a_run_of_before_has_its_trees_beside_the_thresholds(stage: RerankStage, folder: Path, tmp_path: Path) -> None:
    for file in [folder / "thresholds.json", *(folder / "model").iterdir()]:
        shutil.copy(file, tmp_path / file.name)
    matrix = TABLE.matrices[0]
    np.testing.assert_array_equal(RerankStage.load(tmp_path, CONFIG, seed=7).probs(matrix), stage.probs(matrix))


def test_trees_of_a_fold_are_not_grown_twice(stage: RerankStage, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("done.json")}
    assert len(before) == 4
    again = RerankStage(replace(CONFIG, max_entities=1), seed=7).fit(TABLE, FOLDS, folder=folder)
    assert again.rule_.max_entities == 1
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("done.json")} == before
    RerankStage(CONFIG, seed=7).fit(TABLE, FOLDS, folder=folder)


def test_damaged_thresholds_are_refused(stage: RerankStage, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "thresholds.json"
    whole = json.loads(path.read_text())
    assert NumberRule(**whole["rule"]) == stage.rule_
    for content in ([], {}, {"rule": whole["rule"]}, {"calibrator": whole["calibrator"]}):
        path.write_text(json.dumps(content))
        with pytest.raises(ArtifactError, match=r"thresholds\.json: want rule and calibrator"):
            RerankStage.load(tmp_path, CONFIG, seed=7)
    path.write_text("{")
    with pytest.raises(ArtifactError, match=r"thresholds\.json: not valid JSON"):
        RerankStage.load(tmp_path, CONFIG, seed=7)
    path.unlink()
    with pytest.raises(ArtifactError, match=r"thresholds\.json: cannot be read"):
        RerankStage.load(tmp_path, CONFIG, seed=7)
