"""A finished run folder of a few files."""

from __future__ import annotations

from pathlib import Path

from pipeline.artifacts import (
    RunFolder,
    atomic_write_text,
)


def finished_run(models_dir: Path, name: str = "run-1") -> RunFolder:
    """A run with two model files, a log, and a table that prediction does not read."""
    run = RunFolder.create(models_dir, name)
    atomic_write_text(run.config, "seed: 7\n")
    atomic_write_text(run.stage("rerank") / "model.txt", "tree\n")
    atomic_write_text(run.log_text, "started\n")
    atomic_write_text(run.oof("rerank"), "newsId\n")
    run.mark_stage("rerank", key="k", files=[run.stage("rerank") / "model.txt"], seconds=1.5)
    run.finish(command=["run.py", "train"], seed=7, threads=2, facts={"segmentation": "jieba"})
    return run
