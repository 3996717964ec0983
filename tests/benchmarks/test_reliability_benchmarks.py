"""The benchmarks of kills and full disks find what they start from; running them takes minutes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import crash, disk_full
from tests.support.paths import TINY_ARTICLES


@pytest.mark.parametrize("benchmark", [crash, disk_full])
def test_the_tiny_articles_are_there(benchmark: ModuleType) -> None:
    assert benchmark.TINY == TINY_ARTICLES
    assert (benchmark.ROOT / "run.py").is_file()


def test_crashes_begin_with_articles_to_train_on_and_many_to_answer(tmp_path: Path) -> None:
    crashes = crash.Crashes(tmp_path, seed=1, workers=1)
    n_lines = len(TINY_ARTICLES.read_bytes().splitlines())
    assert len(crashes.train_file.read_bytes().splitlines()) == crash.N_TRAIN
    assert len(crashes.input_file.read_bytes().splitlines()) == crash.COPIES * n_lines


def test_a_failure_on_a_full_disk_is_judged(tmp_path: Path) -> None:
    good = "error: a.txt: cannot be written (No space left on device)\n"
    assert disk_full.faults_of(tmp_path, 2, good) == []
    assert len(disk_full.faults_of(tmp_path, 1, "Traceback\n")) == 2
    (tmp_path / "x.tmp").touch()
    assert disk_full.faults_of(tmp_path, 2, good) == [f"left over: {tmp_path / 'x.tmp'}"]
