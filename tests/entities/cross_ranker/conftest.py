from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import CrossConfig
from pipeline.nn.tokenisers import PieceTokeniser
from tests.support.cross_articles import cross_config
from tests.support.tiny_encoder import write_tiny_encoder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def tokeniser(encoder: Path) -> PieceTokeniser:
    return PieceTokeniser.of_encoder(encoder)


@pytest.fixture(scope="session", params=["encoder", "pooled"])
def config(request: pytest.FixtureRequest, encoder: Path) -> CrossConfig:
    return cross_config(encoder, request.param)
