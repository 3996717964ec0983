"""Heads on a frozen encoder run it once a text, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.config import load_config
from pipeline.emotions.heads import encoder_states
from pipeline.nn.encoders import ENCODER_CACHE
from pipeline.nn.encoders.states import hidden_states
from pipeline.standalone.heads.saved import load_head
from pipeline.standalone.heads.states import kept_states
from pipeline.standalone.heads.train_saved import HeadTraining, train_head
from tests.support.tiny_encoder import write_tiny_encoder

ROWS = "".join(
    f'{{"text": "青禾科技新款{number}{said}", "target": "青禾科技", "polarity": "{label}"}}\n'
    for number in range(6)
    for said, label in (("口碑很好", "POS"), ("今天发布", "NORM"))
)


def test_a_head_learns_from_kept_states_and_is_saved_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "rows.jsonl"
    data.write_text(ROWS, encoding="utf-8")
    encoder = write_tiny_encoder(tmp_path / "encoder")
    overrides = [f"head.encoder.name={encoder}", "training.max_epochs=3", "head.hidden_dim=4"]
    runs = []

    def counted(*args: object) -> object:
        runs.append(1)
        return hidden_states(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(encoder_states, "hidden_states", counted)
    saved = train_head(HeadTraining(data, "ian", load_config(overrides=overrides)), tmp_path / "model")
    assert len(runs) == 12  # three epochs and the scoring of dev rows, each text once
    assert not list((tmp_path / ENCODER_CACHE).glob("*"))
    examples = [row.example for row in saved_rows(data)]
    probs = saved.model.predict_proba(examples)
    assert not list((tmp_path / ENCODER_CACHE).glob("*"))
    encoder.rename(tmp_path / "moved")
    np.testing.assert_allclose(load_head(tmp_path / "model").model.predict_proba(examples), probs, atol=2e-3)


def saved_rows(path: Path) -> list:
    from pipeline.standalone.heads.rows import read_rows

    return read_rows(path, max_context_chars=200).rows


@pytest.mark.parametrize(
    "override", ["head.embedding=random", "head.states_cache=kept", "head.encoder_mode=fine_tuned"]
)
def test_no_folder_is_made_where_none_is_wanted(override: str) -> None:
    with kept_states(["ian", "text_cnn"], load_config(overrides=[override])) as folder:
        assert folder is None
