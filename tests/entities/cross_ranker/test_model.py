"""The cross-ranker learns, and what it saves scores alike."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config import CrossConfig
from pipeline.entities.cross_ranker.inputs import CandidateList
from pipeline.entities.cross_ranker.model import CrossModel
from pipeline.errors import ArtifactError, DataError
from pipeline.nn.loop import in_bf16
from tests.support.cross_articles import documents, training_lists

LISTS = training_lists(documents(9))
ARTICLES, LABELS = [part.article for part in LISTS], [part.labels for part in LISTS]


@pytest.fixture(scope="module")
def model(config: CrossConfig) -> CrossModel:
    return CrossModel(config, seed=3).fit(ARTICLES, LABELS)


def n_right(scores: list[np.ndarray]) -> int:
    return sum(int(np.argmax(score) == np.argmax(label)) for score, label in zip(scores, LABELS, strict=True))


def test_a_few_articles_are_learnt_by_heart(model: CrossModel) -> None:
    assert n_right(model.predict(ARTICLES)) == len(ARTICLES)


def test_the_listwise_loss_learns_too(config: CrossConfig) -> None:
    model = CrossModel(replace(config, loss="listwise"), seed=3).fit(ARTICLES, LABELS)
    assert n_right(model.predict(ARTICLES)) == len(ARTICLES)


def test_articles_are_scored_alike_alone_and_together(model: CrossModel) -> None:
    together = model.predict(ARTICLES)
    assert [score.shape for score in together] == [(3,)] * len(ARTICLES)
    for article, scores in zip(ARTICLES, together, strict=True):
        np.testing.assert_allclose(model.predict([article])[0], scores, rtol=1e-4, atol=1e-4)


def test_scores_in_bf16_are_close_and_no_ties(config: CrossConfig, model: CrossModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    training = replace(config.encoder.training, mixed_precision="bf16")
    settings = asdict(replace(config, encoder=replace(config.encoder, training=training)))
    (tmp_path / "cross.json").write_text(json.dumps(settings))
    exact, rough = (np.concatenate(found.predict(ARTICLES)) for found in (model, CrossModel.load(tmp_path)))
    assert np.abs(exact - rough).max() < 0.1 * np.ptp(exact)
    if not in_bf16(training):  # the processor cannot: float32 is used
        np.testing.assert_array_equal(exact, rough)
        return
    assert not np.array_equal(exact, rough)
    as_bf16 = torch.from_numpy(rough).bfloat16().float().numpy()
    assert not np.array_equal(as_bf16, rough)


def test_an_article_without_candidates_has_no_scores(model: CrossModel) -> None:
    scores = model.predict([CandidateList("青禾\n", 3, ()), ARTICLES[0]])
    assert [len(score) for score in scores] == [0, 3]
    assert model.predict([]) == []


def test_training_again_gives_the_same_scores(model: CrossModel, config: CrossConfig) -> None:
    again = CrossModel(config, seed=3).fit(ARTICLES, LABELS)
    assert [s.tolist() for s in again.predict(ARTICLES)] == [s.tolist() for s in model.predict(ARTICLES)]


def test_save_and_load_score_alike(model: CrossModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    loaded = CrossModel.load(tmp_path)
    assert loaded.config == model.config
    assert [s.tolist() for s in loaded.predict(ARTICLES)] == [s.tolist() for s in model.predict(ARTICLES)]
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"model\.safetensors: does not fit the network"):
        CrossModel.load(tmp_path)
    (tmp_path / "cross.json").write_text('{"name": "encoder"}')
    with pytest.raises(ArtifactError, match=r"cross\.json: not the options of this version"):
        CrossModel.load(tmp_path)


def test_what_cannot_be_trained_is_refused(config: CrossConfig) -> None:
    with pytest.raises(DataError, match="nothing to learn from"):
        CrossModel(config).fit(ARTICLES[:1], [np.zeros(3, np.float32)])
    with pytest.raises(ArtifactError, match="reads 128 tokens, cross"):
        CrossModel(replace(config, max_tokens=200, pooled_tokens=200)).fit(ARTICLES, LABELS)
