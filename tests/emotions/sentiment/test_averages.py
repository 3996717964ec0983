"""What predicts emotions is a weighted average of calibrated members, in training and at work alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.config import Config, SentimentConfig
from pipeline.emotions.sentiment import SentimentStage, make_target
from pipeline.emotions.sentiment.scores import Probs, fit_temperature, mixture_weights, with_temperature
from pipeline.runtime.fold_training import train_folds
from pipeline.schema import EMOTIONS, Article, Emotion, Target
from pipeline.text import Document

SAYS = {Emotion.POS: "广受夸赞", Emotion.NORM: "位于城东", Emotion.NEG: "遭到批评"}


class Says:
    """A fitted member that answers every example with the same probabilities."""

    def __init__(self, *probs: float) -> None:
        self.probs = probs

    def predict_proba(self, examples: Sequence[Target]) -> Probs:
        return np.tile(self.probs, (len(examples), 1))


def target(number: int, emotion: Emotion, says: str) -> Target:
    article = Article(f"n{number:03d}", "松果茶社", f"松果茶社{says}。")
    return make_target(Document.of(article), "松果茶社", max_chars=40, emotion=emotion)


EXAMPLES = [
    # Every fifth one lies, so that no member is always right.
    target(index, EMOTIONS[index % 3], f"{SAYS[EMOTIONS[(index + (index % 5 == 0)) % 3]]}{'好' * (index % 4)}")
    for index in range(45)
]
FOLDS = {example.group: index % 3 for index, example in enumerate(EXAMPLES)}


def at_work(weights: dict[str, float], temperatures: dict[str, float], models: dict[str, list[Any]]) -> SentimentStage:
    stage = SentimentStage(Config())
    stage.weights_, stage.temperatures_, stage.models_ = list(weights.values()), temperatures, models
    return stage


def test_members_count_by_their_weights() -> None:
    models = {"sure": [Says(0.8, 0.1, 0.1)], "other": [Says(0.2, 0.2, 0.6)]}
    stage = at_work({"sure": 0.75, "other": 0.25}, {"sure": 1.0, "other": 1.0}, models)
    np.testing.assert_allclose(stage.predict(EXAMPLES[:2]), [[0.65, 0.125, 0.225]] * 2)


def test_each_member_is_calibrated_by_its_own_temperature_before_it_is_averaged() -> None:
    models = {"flat": [Says(0.8, 0.1, 0.1)], "sharp": [Says(0.2, 0.2, 0.6)]}
    stage = at_work({"flat": 0.5, "sharp": 0.5}, {"flat": 3.0, "sharp": 0.5}, models)
    # p ** (1 / T), scaled to one: 2 : 1 : 1 and 1 : 1 : 9.
    flat, sharp = np.array([2, 1, 1]) / 4, np.array([1, 1, 9]) / 11
    np.testing.assert_allclose(stage.predict(EXAMPLES[:1]), [(flat + sharp) / 2])


def test_the_models_of_the_folds_are_averaged_before_the_temperature() -> None:
    stage = at_work({"ian": 1.0}, {"ian": 0.5}, {"ian": [Says(0.9, 0.1, 0.0), Says(0.3, 0.3, 0.4)]})
    np.testing.assert_allclose(stage.predict(EXAMPLES[:1]), [np.array([36, 4, 4]) / 44])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[SentimentStage, dict[str, Probs]]:
    """Return a stage of two members, and the out-of-fold probabilities of each as they came from training."""
    members = ["tfidf", "tfidf_nb"]
    options = Config(
        workers=1, sentiment=SentimentConfig(members=members, choose="+".join(members), max_context_chars=40)
    )
    raw: dict[str, Probs] = {}

    def spied(*arguments: Any, folder: Path, **others: Any) -> list[Any]:
        found = train_folds(*arguments, folder=folder, **others)
        raw[folder.name] = np.array(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.emotions.sentiment.stage.train_folds", spied)
        stage = SentimentStage(options).fit(EXAMPLES, FOLDS, folder=tmp_path_factory.mktemp("stage"))
    return stage, {name: raw[name] for name in members}


def test_the_out_of_fold_table_holds_the_weighted_average_of_calibrated_members(
    fitted: tuple[SentimentStage, dict[str, Probs]],
) -> None:
    stage, raw = fitted
    gold = [EMOTIONS[index % 3] for index in range(len(EXAMPLES))]
    temperatures = {name: fit_temperature(probs, gold) for name, probs in raw.items()}
    calibrated = [with_temperature(probs, temperatures[name]) for name, probs in raw.items()]
    weights = mixture_weights(calibrated, gold)
    assert {name: stage.temperatures_[name] for name in raw} == pytest.approx(temperatures)
    assert stage.weights_ == pytest.approx(weights)
    found = stage.oof_[["p_pos", "p_norm", "p_neg"]].to_numpy(np.float64)
    np.testing.assert_allclose(found, weights[0] * calibrated[0] + weights[1] * calibrated[1])
    # Neither temperature nor weight is without effect here.
    assert min(abs(np.log(temperature)) for temperature in temperatures.values()) > 0.05
    assert abs(weights[0] - weights[1]) > 0.05
