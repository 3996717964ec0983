"""Heads on a frozen encoder: it is kept once, run once a text, and their fold models predict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.config import Config
from pipeline.emotions.sentiment.stage import ENCODER, SentimentStage
from pipeline.nn.encoders import STATES
from pipeline.nn.encoders.states import hidden_states
from pipeline.nn.weights import WEIGHTS
from tests.emotions.sentiment.test_stage import EXAMPLES, FOLDS, TELLING, config
from tests.support.tiny_encoder import write_tiny_encoder


def on_frozen(encoder: Path, *members: str) -> Config:
    options = config(*members, choose="+".join(members))
    options.head.embedding, options.head.encoder_mode, options.head.encoder.name = "encoder", "frozen", str(encoder)
    return options


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    characters = "".join([*TELLING.values(), "松果茶社"])
    return write_tiny_encoder(tmp_path / "tiny", n_layers=1, characters=characters)


def test_fold_models_predict_and_the_encoder_is_kept_once(encoder: Path, tmp_path: Path) -> None:
    folder, options = tmp_path / "stage", on_frozen(encoder, "ian", "af_lstm")
    stage = SentimentStage(options).fit(EXAMPLES, FOLDS, folder=folder)
    assert {name: len(models) for name, models in stage.models_.items()} == {"ian": 3, "af_lstm": 3}
    kept = (folder / ENCODER / WEIGHTS).stat().st_size
    heads = [path.stat().st_size for path in folder.rglob(WEIGHTS) if path.parent.name != ENCODER]
    assert len(heads) == 6
    assert kept > 0
    assert not (folder / ENCODER / STATES).exists()
    networks = {id(model.head_.embedder.encoder) for models in stage.models_.values() for model in models}  # type: ignore[attr-defined]
    assert len(networks) == 1
    encoder.rename(tmp_path / "moved")
    again = SentimentStage.load(folder, options)
    np.testing.assert_array_equal(again.predict(EXAMPLES), stage.predict(EXAMPLES))


def test_a_text_is_run_once_for_all_heads(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = SentimentStage(on_frozen(encoder, "ian", "af_lstm")).fit(EXAMPLES, FOLDS, folder=tmp_path / "stage")
    runs = []

    def counted(*args: object) -> object:
        runs.append(1)
        return hidden_states(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("pipeline.emotions.heads.encoder_states.hidden_states", counted)
    stage = SentimentStage.load(tmp_path / "stage", stage.config)
    stage.predict(EXAMPLES[:4])
    assert len(runs) == len({example.text for example in EXAMPLES[:4]})


def test_another_encoder_takes_the_place_of_the_one_before(encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stage"
    SentimentStage(on_frozen(encoder, "ian")).fit(EXAMPLES, FOLDS, folder=folder)
    characters = "".join([*TELLING.values(), "松果茶社"])
    other = write_tiny_encoder(tmp_path / "other", n_layers=1, seed=6, characters=characters)
    stage = SentimentStage(on_frozen(other, "ian")).fit(EXAMPLES, FOLDS, folder=folder)
    apart = SentimentStage(on_frozen(other, "ian")).fit(EXAMPLES, FOLDS, folder=tmp_path / "apart")
    np.testing.assert_array_equal(stage.predict(EXAMPLES), apart.predict(EXAMPLES))
