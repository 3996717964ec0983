"""Heads trained once for all tests of the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.standalone.heads.train_saved import HeadTraining, train_head
from tests.cli.heads.rows import LEARNING, QUICK, documents, lines, targets


def options(arguments: tuple[str, ...]) -> list[str]:
    return [argument for argument in arguments if "=" in argument]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of ``documents`` (fast_text, has learnt) and ``targets`` (ian), with their training rows."""
    folder = tmp_path_factory.mktemp("heads")
    for name, rows, head, arguments in (
        ("documents", documents(60), "fast_text", LEARNING),
        ("targets", targets(24), "ian", QUICK),
    ):
        data = folder / f"{name}.jsonl"
        data.write_text(lines(rows), encoding="utf-8")
        config = load_config(preset="tiny", overrides=options(arguments))
        train_head(HeadTraining(data, head, config), folder / name)
    return folder
