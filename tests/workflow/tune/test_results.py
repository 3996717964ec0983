"""What a search for options writes: how much of the gain is luck, and trials that are damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.config import Config, load_config
from pipeline.errors import ArtifactError, ConfigError
from pipeline.workflow.tune import format_result
from pipeline.workflow.tune.results import Trial, TrialLog, held_out_gain, summarise


def test_the_held_out_gain_by_hand() -> None:
    # Chosen on the first article it loses 1 on the second; chosen on the second the base stays.
    assert held_out_gain(np.array([[0.0, 0.0], [1.0, -1.0]])) == -0.5
    assert held_out_gain(np.array([[0.0, 0.0, 0.0], [0.25, 0.25, 0.25]])) == 0.25
    assert held_out_gain(np.array([[0.0], [1.0]])) == 0.0


def test_the_held_out_gain_sees_through_luck() -> None:
    rng = np.random.default_rng(0)
    lucky = rng.normal(size=(50, 400))
    lucky[0] = 0
    assert lucky.mean(1).max() > 0.08
    assert held_out_gain(lucky) < 0.02
    lucky[7] += 0.5
    assert held_out_gain(lucky) == pytest.approx(0.5, abs=0.12)


def test_the_caution_names_what_is_left_of_the_gain(tmp_path: Path) -> None:
    log = TrialLog.open(tmp_path, {"seed": 1})
    scores = np.tile([[0.5, 0.25]], (10, 1))
    log.add(Trial(0, {"rerank.num_leaves": 15}, True, [0.3, 0.375], 0.0), scores)
    alone = summarise(log, Config(), "score", searches_emotions=False)
    assert format_result(alone).endswith("No trial was better than the run's own options.")
    log.add(Trial(1, {"rerank.num_leaves": 31}, True, [0.3, 0.475], 0.0), scores + 0.1)
    log.add(Trial(2, {"rerank.num_leaves": 4}, False, [0.2], 0.0), None)
    text = format_result(summarise(TrialLog.open(tmp_path, {"seed": 1}), Config(), "score", searches_emotions=False))
    assert "3 trials, 1 of them given up" in text
    assert "rerank.num_leaves: 15 -> 31" in text
    assert "the gain in score is +0.1000, 100% of +0.1000" in text
    assert load_config(file=tmp_path / "best.yaml").rerank.num_leaves == 31
    with pytest.raises(ConfigError, match="another seed"):
        TrialLog.open(tmp_path, {"seed": 2})


def test_damaged_trials_are_an_artifact_error(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('{"trials": []}')
    with pytest.raises(ArtifactError, match=r"search\.json: not a search"):
        TrialLog.open(tmp_path, {"seed": 1})
