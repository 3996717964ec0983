"""What a training takes over from an earlier one, and what it trains again; neither depends on the file's order."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.artifacts import RunFolder, read_table
from pipeline.config import Config, load_config
from pipeline.workflow import train as training
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest
from tests.support.paths import TINY_ARTICLES

OPTIONS = (
    "n_folds=2",
    "workers=1",
    "candidates.dictionary=",
    "candidates.max_candidates=20",
    "rerank.n_estimators=3",
    "rerank.n_hard_negatives=0",
    "sentiment.members=[majority]",
)
DONE = "stage {}: done before"


def config(*overrides: str) -> Config:
    return load_config(preset="tiny", overrides=[*OPTIONS, *overrides])


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return TINY_ARTICLES.read_bytes().splitlines(keepends=True)[:12]


@pytest.fixture
def run(tmp_path: Path, lines: list[bytes]) -> RunFolder:
    """Return a run that was trained on articles in falling order."""
    (tmp_path / "train.jsonl").write_bytes(b"".join(reversed(lines)))
    folder = RunFolder.create(tmp_path / "models", "r")
    train(TrainRequest([tmp_path / "train.jsonl"], config()), folder)
    return folder


def again(run: RunFolder, caplog: pytest.LogCaptureFixture, *overrides: str) -> set[str]:
    """Train once more in the same folder; return the stages that were done before."""
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="pipeline.workflow.train"):
        train(TrainRequest([run.path.parents[1] / "train.jsonl"], config(*overrides)), run)
    return {stage for stage in ("rerank", "sentiment") if DONE.format(stage) in caplog.messages}


def test_only_what_rests_on_a_changed_option_is_trained_again(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    articles = list(dict.fromkeys(read_table(run.oof("sentiment"))["news_id"]))
    assert articles == sorted(articles)  # whatever the order of the file
    assert again(run, caplog) == {"rerank", "sentiment"}
    assert again(run, caplog, "rerank.n_estimators=4") == {"sentiment"}
    assert again(run, caplog, "rerank.n_estimators=4", "sentiment.max_context_chars=70") == {"rerank"}
    assert again(run, caplog, "rerank.n_estimators=4", "sentiment.max_context_chars=70", "seed=8") == set()


@pytest.fixture
def key_of(tmp_path: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the key on which every stage of a training rests."""

    class Enough(Exception):
        pass

    def first_stage(self: Any, name: str, key: str, *parts: Any, work: Any) -> str:
        raise Enough(key)

    monkeypatch.setattr(training._Training, "_stage", first_stage)
    numbers = iter(range(100))

    def key(*overrides: str, n_lines: int = 12, limit: int | None = None) -> str:
        (tmp_path / "train.jsonl").write_bytes(b"".join(lines[:n_lines]))
        request = TrainRequest([tmp_path / "train.jsonl"], config(*overrides))
        with pytest.raises(Enough) as caught:
            train(dataclasses.replace(request, limit=limit), RunFolder.create(tmp_path / "models", f"r{next(numbers)}"))
        return str(caught.value)

    return key


def test_every_stage_rests_on_data_script_seed_folds_and_candidates(key_of: Callable[..., str], tmp_path: Path) -> None:
    usual = key_of()
    assert key_of() == usual
    assert key_of("workers=2", "rerank.n_estimators=9", "sentiment.max_context_chars=70") == usual
    names = tmp_path / "names.txt"
    names.write_text("松果茶社\n", encoding="utf-8")
    others = [
        key_of("seed=8"),
        key_of("n_folds=3"),
        key_of("candidates.max_candidates=21"),
        key_of("text.to_simplified=true"),
        key_of(f"candidates.dictionary={names}"),
        key_of(n_lines=11),
        key_of(limit=11),
    ]
    names.write_text("松果茶社\n云杉汽车\n", encoding="utf-8")
    others.append(key_of(f"candidates.dictionary={names}"))
    assert len({usual, *others}) == 9
