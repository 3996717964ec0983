"""The cross-ranker as a stage: out-of-fold, saved by fold, resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import Config
from pipeline.entities.cross_ranker.stage import CrossStage
from pipeline.errors import ArtifactError
from tests.support.cross_articles import cross_config, documents, training_lists

LISTS = training_lists(documents(18))
FOLDS = [index // 3 % 3 for index in range(len(LISTS))]
N_EPOCHS = 2


@pytest.fixture(scope="module")
def run_config(encoder: Path) -> Config:
    cross = cross_config(encoder)
    training = replace(cross.encoder.training, max_epochs=N_EPOCHS)
    return Config(workers=1, n_folds=3, cross=replace(cross, encoder=replace(cross.encoder, training=training)))


@pytest.fixture(scope="module")
def fitted(run_config: Config, tmp_path_factory: pytest.TempPathFactory) -> tuple[CrossStage, Path]:
    folder = tmp_path_factory.mktemp("cross")
    return CrossStage(run_config, log=folder / "log.jsonl").fit(LISTS, FOLDS, folder=folder), folder


def scores(stage: CrossStage) -> list[list[float]]:
    return [score.tolist() for score in stage.oof_]


def test_the_best_candidates_are_scored_and_no_other(fitted: tuple[CrossStage, Path]) -> None:
    assert [len(score) for score in scores(fitted[0])] == [part.n_best for part in LISTS]


def test_an_article_is_scored_by_a_model_that_has_not_seen_its_labels(
    fitted: tuple[CrossStage, Path], run_config: Config, tmp_path: Path
) -> None:
    changed = [
        replace(part, labels=np.roll(part.labels, 1)) if fold == 1 else part
        for part, fold in zip(LISTS, FOLDS, strict=True)
    ]
    stage = CrossStage(run_config).fit(changed, FOLDS, folder=tmp_path)
    for fold in range(3):
        same = [scores(stage)[row] == scores(fitted[0])[row] for row in range(len(LISTS)) if FOLDS[row] == fold]
        assert same == [fold == 1] * len(same)


def test_finished_trainings_are_not_repeated(fitted: tuple[CrossStage, Path], run_config: Config) -> None:
    stage, folder = fitted
    log = folder / "log.jsonl"

    def again(config: Config) -> tuple[CrossStage, list[object]]:
        n_lines = len(log.read_text().splitlines())
        found = CrossStage(config, log=log).fit(LISTS, FOLDS, folder=folder)
        return found, [json.loads(line)["fold"] for line in log.read_text().splitlines()[n_lines:]]

    assert len(log.read_text().splitlines()) == 4 * N_EPOCHS
    found, trained = again(replace(run_config, cross=replace(run_config.cross, combine="blend", n_estimators=7)))
    assert (scores(found), trained) == (scores(stage), [])
    (folder / "folds" / "1" / "done.json").unlink()
    found, trained = again(run_config)
    assert (scores(found), trained) == (scores(stage), [1] * N_EPOCHS)


def test_other_options_or_labels_train_again(
    fitted: tuple[CrossStage, Path], run_config: Config, tmp_path: Path
) -> None:
    listwise = replace(run_config, cross=replace(run_config.cross, loss="listwise"))
    assert scores(CrossStage(listwise).fit(LISTS, FOLDS, folder=tmp_path)) != scores(fitted[0])
    assert scores(CrossStage(run_config).fit(LISTS, FOLDS, folder=tmp_path)) == scores(fitted[0])


def test_two_workers_give_the_same_scores(fitted: tuple[CrossStage, Path], run_config: Config, tmp_path: Path) -> None:
    stage = CrossStage(replace(run_config, workers=2)).fit(LISTS, FOLDS, folder=tmp_path)
    assert scores(stage) == scores(fitted[0])


def test_save_and_load_score_alike(fitted: tuple[CrossStage, Path], run_config: Config, tmp_path: Path) -> None:
    articles = [part.best for part in LISTS]
    loaded = CrossStage.load(fitted[1], run_config).predict(articles)
    assert [score.tolist() for score in loaded] == [score.tolist() for score in fitted[0].predict(articles)]
    with pytest.raises(ArtifactError, match="cannot be read"):
        CrossStage.load(tmp_path / "none", run_config)
