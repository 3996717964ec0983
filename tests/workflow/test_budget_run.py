"""A run with a time to keep to: its sizes are stored, and nothing plans again what it was begun with."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pipeline.artifacts import RunFolder, read_json
from pipeline.config import Config, flat_options, load_config, load_given
from pipeline.errors import ArtifactError, ConfigError
from pipeline.workflow import budget
from pipeline.workflow.begun import Begun, stored_config
from pipeline.workflow.estimates import Costs, RerankCosts
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest
from tests.support.paths import TINY_ARTICLES

OPTIONS = (
    "n_folds=2",
    "workers=1",
    "candidates.dictionary=",
    "rerank.n_estimators=3",
    "sentiment.members=[majority]",
    "budget.minutes=2",
)
RERANK = RerankCosts(0, 0, 0, 0, 20.0, 2.0, n_features=9, bin_row=0, tree=0, tree_row=1.0, mine=0, score=0, rule=0)
CHANGED = {"rerank.n_hard_negatives": 10, "rerank.other_negatives": 0.05}
"""What is left to cut of few articles, folds and trees."""


def config(*overrides: str) -> Config:
    return load_config(preset="tiny", overrides=[*OPTIONS, *overrides])


@pytest.fixture
def calibrations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of articles that were looked at."""
    found: list[int] = []

    def calibrate(config: Config, articles: Any, **_: Any) -> Costs:
        found.append(len(articles))
        return Costs(rerank=RERANK)

    monkeypatch.setattr(budget, "calibrate", calibrate)
    return found


def test_a_run_stores_its_sizes_and_goes_on_with_them(
    calibrations: list[int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = TINY_ARTICLES.read_bytes().splitlines(keepends=True)[:12]
    (tmp_path / "train.jsonl").write_bytes(b"".join(lines))
    run = RunFolder.create(tmp_path / "models", "r")
    with caplog.at_level(logging.INFO):
        figures = train(TrainRequest([tmp_path / "train.jsonl"], config()), run)
    assert calibrations == [12]
    said = "budget of 2 min: rerank.n_hard_negatives 20 -> 10, rerank.other_negatives 0.1 -> 0.05: the trees see fewer"
    assert any(message.startswith(said) for message in caplog.messages)
    assert any("the smallest plan takes about" in message for message in caplog.messages)
    stored = load_run_config(run.config)
    wanted = flat_options(config("budget.minutes=0").to_dict()) | CHANGED
    assert flat_options(stored.to_dict()) == wanted
    begun = Begun.load(run)
    assert begun.changed == CHANGED
    assert figures["budget"] == begun.planned == read_json(run.metrics)["budget"]

    again = TrainRequest([tmp_path / "train.jsonl"], stored, planned=begun.planned)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        assert train(again, run)["budget"] == figures["budget"]
    assert "stage rerank: done before" in caplog.messages
    assert (calibrations, Begun.load(run).planned) == ([12], begun.planned)

    # The command that began it may be given again, with --resume and what it had, and nothing else.
    assert stored_config(run, begun, preset="tiny", file=None, overrides=OPTIONS) == stored
    with pytest.raises(ConfigError, match=r"budget.minutes=3.0: .* was begun with budget.minutes=2.0"):
        stored_config(run, begun, preset=None, file=None, overrides=["budget.minutes=3"])
    with pytest.raises(ConfigError, match=r"begun with rerank\.n_hard_negatives=10"):
        stored_config(run, begun, preset=None, file=None, overrides=["rerank.n_hard_negatives=20"])

    values = json.loads(run.request.read_text())
    run.request.write_text(json.dumps({**values, "planned": [1]}))
    with pytest.raises(ArtifactError, match=r"request\.json: cannot be read \(planned"):
        Begun.load(run)


def test_the_same_time_is_not_planned_twice_and_another_one_is(calibrations: list[int]) -> None:
    planned = {"minutes": 2.0, "changed": {}}
    found, kept = budget.within_budget(config(), [], (), planned)
    assert (found, kept, calibrations) == (config("budget.minutes=0"), planned, [])
    _, kept = budget.within_budget(config("budget.minutes=3"), [], (), planned)
    assert (kept["minutes"], calibrations) == (3.0, [0])


def test_without_a_time_nothing_is_tried_or_noted(calibrations: list[int]) -> None:
    plain = config("budget.minutes=0")
    assert budget.within_budget(plain, [], (), {}) == (plain, {})
    assert calibrations == []


def test_options_of_a_file_and_of_the_command_line_are_given_those_of_a_preset_are_not(tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("tagger:\n  training:\n    max_epochs: 3\nseed: 3\n")
    _, given = load_given(preset="paper", file=file, overrides=["rerank.n_bags=2"])
    assert given == {"tagger.training.max_epochs", "seed", "rerank.n_bags"}
