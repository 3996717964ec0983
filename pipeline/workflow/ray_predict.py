"""Prediction on Ray: one process a worker, on this machine or on a cluster, with the same bytes as without it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.artifacts import RunFolder
from pipeline.errors import ConfigError, PipelineError
from pipeline.parallel import CHUNKS_AHEAD, chunked
from pipeline.schema import Article, Prediction
from pipeline.workflow.predict import CHUNK_SIZE, Predictor

MAX_RESTARTS = 3
"""Lost processes that are replaced, for each worker; their chunks are answered again."""

ADDRESS = "RAY_ADDRESS"
"""Environment variable with the address of a cluster; without it Ray is started on this machine, and stopped again."""


class RayWorker:
    """The models of one run, loaded once in each of Ray's processes, with its first chunk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor.load(self._path)

    def predict(self, articles: Sequence[Article]) -> list[Prediction]:
        """Answer a chunk of articles."""
        return self._predictor.predict(articles)


def predict_on_ray(run: RunFolder, articles: Iterable[Article], *, workers: int) -> Iterator[Prediction]:
    """Yield the prediction of each article, in order; at most ``workers * CHUNKS_AHEAD`` chunks are on the way.

    On a cluster the run folder and the program must lie at the same paths on every machine.

    Raises:
        ConfigError: Ray is not installed, or the cluster cannot be reached.
        PipelineError: what a worker raised, such as ArtifactError where it cannot load the run.
        PipelineError: a worker was lost more than ``MAX_RESTARTS`` times.
    """
    with _started(workers) as ray:
        actor = ray.remote(num_cpus=1, max_restarts=MAX_RESTARTS, max_task_retries=MAX_RESTARTS)(RayWorker)
        pool = [actor.remote(run.path.resolve()) for _ in range(workers)]
        pending: deque[Any] = deque()
        try:
            for number, chunk in enumerate(chunked(articles, CHUNK_SIZE)):
                pending.append(pool[number % workers].predict.remote(chunk))
                if len(pending) == workers * CHUNKS_AHEAD:
                    yield from ray.get(pending.popleft())
            while pending:
                yield from ray.get(pending.popleft())
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.ActorDiedError as error:
            raise PipelineError("a Ray worker was lost too often (out of memory?)", hint="use fewer workers") from error


@contextmanager
def _started(workers: int) -> Iterator[Any]:
    """Start Ray here with one processor a worker, or join the cluster of RAY_ADDRESS; leave it in the end."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "--engine ray: Ray is not installed", hint="pip install -r requirements-cluster.txt"
        ) from error
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if ADDRESS in os.environ:
            ray.init(**quiet)
        else:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(f"Ray cannot be started or reached: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()
