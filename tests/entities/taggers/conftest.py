from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import TaggerConfig, TrainingConfig
from tests.support.tiny_encoder import write_tiny_encoder

TINY: dict[str, Any] = {
    "embedding_dim": 24,
    "hidden_dim": 16,
    "d_model": 32,
    "n_layers": 2,
    "n_heads": 4,
    "feed_forward_dim": 48,
    "dropout": 0.0,
    "encoder_learning_rate": 1e-2,
    "layer_decay": 1.0,
    "freeze_layers": 0,
    "window_tokens": 24,
    "train_window_tokens": 24,
    "overlap_tokens": 8,
    "title_tokens": 8,
    "train_tokens": 0,
}


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a random BERT of two layers."""
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def tiny_tagger(tiny_encoder: Path) -> Callable[..., TaggerConfig]:
    """Return a function that makes the options of a small tagger by its registered name."""

    def make(name: str, *, epochs: int = 40, **options: Any) -> TaggerConfig:
        training = TrainingConfig(max_epochs=epochs, batch_size=4, learning_rate=1e-2, weight_decay=0.0)
        return TaggerConfig(name=name, encoder=str(tiny_encoder), training=training, **{**TINY, **options})

    return make
