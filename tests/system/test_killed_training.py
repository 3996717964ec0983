"""``kill -9`` of a training with workers: no worker is left, and who reads its output gets to the end of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder
from tests.support.paths import ROOT
from tests.support.processes import children_of, is_running

START_S = 240
"""Until the stage is reached, on a busy machine."""
END_S = 30
"""Until everything is gone. A worker notices within a moment; what it is doing takes none of that."""
SLOW_TREES = ("rerank.n_estimators=60000", "rerank.num_leaves=31", "sentiment.members=[tfidf]")
IN_WORKERS = """
import sys
sys.path.insert(0, {root!r})
from pipeline.entities.rerank import stage
from pipeline.cli import main
stage._TreesTask.few = 0
if __name__ == "__main__":
    raise SystemExit(main())
"""
"""A training that takes workers for its trees, however few the articles."""
SLOW_TFIDF = """
import sys, time
sys.path.insert(0, {root!r})
from pipeline.emotions.sentiment import tfidf
from pipeline.emotions.sentiment.linear_training import LinearTraining
LinearTraining.few = 0
if __name__ != "__main__":  # in a worker
    tfidf.Tfidf.fit_counted = lambda *_, **__: time.sleep(600)
from pipeline.cli import main
if __name__ == "__main__":
    raise SystemExit(main())
"""
"""A training whose workers never finish the n-grams."""


def folds_begun(run: RunFolder) -> bool:
    """Tell whether the reranker's folds are being trained: what they learn from is there."""
    return (run.stage("candidates") / "key_counts.json.gz").is_file()


def tfidf_begun(run: RunFolder) -> bool:
    return (run.stage("sentiment") / "majority" / "folds" / "2" / "done.json").is_file()


@pytest.mark.parametrize(
    ("script", "options", "begun"),
    [
        pytest.param(IN_WORKERS, SLOW_TREES, folds_begun, id="reranker"),
        pytest.param(SLOW_TFIDF, ("sentiment.members=[tfidf]",), tfidf_begun, id="n-grams"),
    ],
)
def test_no_worker_outlives_a_killed_training(
    tiny_data: Path, tmp_path: Path, script: str, options: tuple[str, ...], begun: Callable[[RunFolder], bool]
) -> None:
    program = tmp_path / "slow.py"
    program.write_text(script.format(root=str(ROOT)))
    overrides = [part for option in ("workers=2", *options) for part in ("--set", option)]
    command = [sys.executable, program, "train", "--preset", "tiny", "--run", "killed", *overrides]
    # As ``train 2>&1 | cat``: cat ends when nobody holds the other end any more.
    process = subprocess.Popen(
        [*map(str, command), "--train", str(tiny_data / "train.jsonl")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.PIPE) as reader:
        assert process.stdout is not None
        process.stdout.close()
        run, deadline = RunFolder(tmp_path / "models" / "killed"), time.monotonic() + START_S
        children: list[int] = []
        try:
            while not begun(run) or len(children) < 3:  # two workers and what tracks their resources
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
                children = children_of(process.pid)
            time.sleep(1)
            children = children_of(process.pid)
            assert len(children) >= 2
        finally:
            process.kill()
            process.wait()
        said, _ = reader.communicate(timeout=END_S)
    assert b"run: models/killed" in said
    deadline = time.monotonic() + END_S
    while alive := [child for child in children if is_running(child)]:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.1)
    assert not run.manifest.exists()
