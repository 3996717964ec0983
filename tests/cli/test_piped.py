"""Files of options and of articles that can be read only once, as ``<(command)`` gives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.errors import ConfigError
from tests.support.command_line import Done
from tests.support.pipes import piped


def test_options_may_come_from_a_pipe(tmp_path: Path) -> None:
    with piped(b"rerank: {num_leaves: 9}\n") as path:
        assert load_config(file=path).rerank.num_leaves == 9
    with piped(b"nothing: 3\n") as path, pytest.raises(ConfigError, match=r"^/dev/fd/\d+: .*nothing"):
        load_config(file=path)
    with pytest.raises(ConfigError, match="no such configuration file"):
        load_config(file=tmp_path)


def test_train_takes_options_and_articles_from_pipes(run_here: Callable[..., Done], tiny_data: Path) -> None:
    with piped(b"n_folds: 4\n") as config, piped((tiny_data / "train.jsonl").read_bytes()) as rows:
        done = run_here("train", "--preset", "tiny", "--train", rows, "--config", config, "--dry-run")
    assert done.code == 0, done.err
    assert "folds: 4 of " in done.out


def test_compare_modes_refuses_a_time_by_which_each_mode_would_choose_its_own_folds(
    run_here: Callable[..., Done], tiny_data: Path
) -> None:
    done = run_here("compare", "modes", "--train", tiny_data / "train.jsonl", "--set", "budget.minutes=3")
    assert (done.code, "modes are compared on the same folds and sizes" in done.message) == (2, True)
    assert "tagger.train_articles" in done.err


def test_compare_modes_takes_options_and_articles_from_pipes(run_here: Callable[..., Done], tiny_data: Path) -> None:
    with piped(b"tagger: {name: lstm}\n") as config, piped((tiny_data / "train.jsonl").read_bytes()) as rows:
        arguments = ("--train", rows, "--config", config, "--preset", "tiny", "--modes", "joint,none")
        done = run_here("compare", "modes", *arguments)
    # The first mode was accepted, so the options of the pipe are known.
    assert (done.code, done.message) == (
        2,
        "mode: Invalid value 'none', expected one of ['two_stage', 'joint', 'fused']",
    )
