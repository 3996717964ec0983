"""Prediction on Ray: the bytes of the local engine, also after a worker was lost, and plain errors."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from command_line import Cli, TinyRun

from pipeline.artifacts import open_run
from pipeline.errors import ArtifactError, ConfigError
from pipeline.read import iter_articles
from pipeline.schema import Article
from pipeline.workflow.predict import CHUNK_SIZE, predict_stream
from pipeline.workflow.ray_predict import ADDRESS, predict_on_ray

needs_ray = [
    pytest.mark.slow,  # Ray takes 10 to 20 seconds to start and stop
    pytest.mark.enable_socket,  # its processes talk over this machine's own network
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed (requirements-cluster.txt)"
    ),
]


def with_marks(*marks: pytest.MarkDecorator):
    def add(test):
        for mark in marks:
            test = mark(test)
        return test

    return add


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)


@pytest.fixture
def folder(tiny_run: TinyRun, tmp_path: Path) -> Path:
    tiny_run.copy_to(tmp_path)
    return tmp_path


def ray_workers() -> list[psutil.Process]:
    """Return the processes below this one that hold the models."""
    below = psutil.Process().children(recursive=True)
    return [process for process in below if "RayWorker" in " ".join(process.cmdline())]


@with_marks(*needs_ray)
def test_a_lost_worker_costs_nothing(folder: Path, tiny_data: Path) -> None:
    run = open_run(folder / "models", "tiny")
    articles = [*iter_articles(tiny_data / "all.jsonl", labelled=False)] * 8
    n_killed = 0

    def stream() -> Iterator[Article]:
        nonlocal n_killed
        for number, article in enumerate(articles):
            if number == 7 * CHUNK_SIZE:  # results of the first chunk have come back: both workers are at work
                os.kill(ray_workers()[0].pid, signal.SIGKILL)
                n_killed += 1
            yield article

    assert len(articles) > 10 * CHUNK_SIZE
    found = list(predict_on_ray(run, stream(), workers=2))
    assert n_killed == 1
    assert found == list(predict_stream(run, articles, workers=1))


@with_marks(*needs_ray)
def test_same_bytes_as_the_local_engine(cli: Cli, folder: Path, tiny_data: Path) -> None:
    answers = {}
    env = {"PYTHONPATH": str(Path(importlib.util.find_spec("ray").origin).parents[1])}
    for engine in ("local", "ray"):
        files = [f"{engine}.txt", f"{engine}.csv", f"{engine}.jsonl"]
        names = ("--output", files[0], "--details", files[2], "--workers", 2, "--engine", engine)
        done = cli.run("predict", "--input", tiny_data / "all.jsonl", *names, cwd=folder, env=env)
        assert (done.code, done.out) == (0, f"{engine}.txt\n"), done.err
        answers[engine] = [(folder / name).read_bytes() for name in files]
    assert answers["ray"] == answers["local"]


@with_marks(*needs_ray)
def test_a_worker_that_cannot_load_says_why(folder: Path, tiny_data: Path) -> None:
    run = open_run(folder / "models", "tiny")
    (run.path / "rerank/model.txt").unlink()
    articles = iter_articles(tiny_data / "all.jsonl", labelled=False)
    with pytest.raises(ArtifactError, match=r"rerank/model.txt: cannot be read"):
        next(predict_on_ray(run, articles, workers=1))


def test_ray_is_missing(folder: Path, tiny_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    run = open_run(folder / "models", "tiny")
    articles = iter_articles(tiny_data / "all.jsonl", labelled=False)
    with pytest.raises(ConfigError, match="Ray is not installed"):
        next(predict_on_ray(run, articles, workers=2))
