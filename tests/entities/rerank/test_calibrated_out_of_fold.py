"""Calibration rests on scores of models that did not see the article: scores of what was learnt are far too sure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.config import RerankConfig
from pipeline.entities.features import FeatureTable
from pipeline.entities.rerank import Calibrator, RerankStage

N_ARTICLES, N_CANDIDATES = 45, 6
FOLDS = [index % 3 for index in range(N_ARTICLES)]


@pytest.fixture(scope="module")
def noise() -> FeatureTable:
    """Return articles whose gold entities are drawn at random: there is nothing to learn but by heart."""
    rng = np.random.default_rng(0)
    gold = rng.integers(N_CANDIDATES, size=N_ARTICLES)
    return FeatureTable(
        names=["x.a", "x.b"],
        news_ids=[f"a{index:02}" for index in range(N_ARTICLES)],
        keys=[[f"名{index}{row}" for row in range(N_CANDIDATES)] for index in range(N_ARTICLES)],
        firsts=[np.arange(N_CANDIDATES)] * N_ARTICLES,
        matrices=[rng.normal(size=(N_CANDIDATES, 2)).astype(np.float32) for _ in range(N_ARTICLES)],
        labels=[(np.arange(N_CANDIDATES) == row).astype(np.float32) for row in gold],
        n_gold=[1] * N_ARTICLES,
    )


def test_noise_is_never_sure(noise: FeatureTable, tmp_path: Path) -> None:
    few = {"n_bags": 1, "n_hard_negatives": 0, "extra_trees": False, "bagging_fraction": 1.0, "feature_fraction": 1.0}
    config = RerankConfig(n_estimators=150, learning_rate=0.3, min_child_samples=2, reg_lambda=0.0, **few)
    stage = RerankStage(config, seed=7).fit(noise, FOLDS, folder=tmp_path)
    learnt = [stage.model_.score(matrix) for matrix in noise.matrices]
    assert stage.calibrator_ == Calibrator.fit(stage.oof_, noise.labels)
    by_heart = Calibrator.fit(learnt, noise.labels)
    assert max(by_heart.probs(scores).max() for scores in learnt) > 0.9  # what the leak would look like
    assert max(probs.max() for probs in stage.oof_probs_) < 0.5
