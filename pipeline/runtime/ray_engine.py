"""Ray as the engine of work over articles: what ``parallel.map_chunks`` does in processes, here or on a cluster."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigError, PipelineError
from pipeline.runtime.folder_load import FolderLoad
from pipeline.runtime.parallel import CHUNKS_AHEAD, Item, Result, chunked

MAX_RESTARTS = 3
"""Lost processes that are replaced, for each worker; their chunks are answered again."""

ADDRESS = "RAY_ADDRESS"
"""Environment variable with the address of a cluster; without it Ray is started on this machine, and stopped again."""


class RayWorker:
    """One of Ray's processes, with the resource of its work, loaded with the first chunk."""

    def __init__(self, folder: Path, load: Callable[[], Any]) -> None:
        self._folder, self._load = folder, load

    @cached_property
    def _resource(self) -> Any:
        enter_if_there(self._folder)
        return self._load()

    def run(self, work: Callable[[Any, list[Item]], Sequence[Result]], chunk: list[Item]) -> Sequence[Result]:
        """Work on a chunk."""
        return work(self._resource, chunk)


class RayChunkMap:
    """``parallel.map_chunks`` on Ray: same arguments, same results, same order.

    Args:
        ray: the package, started.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def __call__(
        self,
        work: Callable[[Any, list[Item]], Sequence[Result]],
        items: Iterable[Item],
        *,
        load: Callable[[], Any],
        workers: int,
        chunk_size: int,
        alone: int = 0,
    ) -> Iterator[Result]:
        """Yield ``work(resource, chunk)`` for every chunk, item by item and in order, each worker a Ray actor.

        ``alone`` says nothing here: whoever asks for Ray wants its actors.

        Raises:
            PipelineError: what a worker raised, such as ArtifactError where it cannot load; or a worker was lost more
                than ``MAX_RESTARTS`` times.
        """
        ray = self._ray
        actor = ray.remote(num_cpus=1, max_restarts=MAX_RESTARTS, max_task_retries=MAX_RESTARTS)(RayWorker)
        load = lend(ray, load)
        pool = [actor.remote(Path.cwd(), load) for _ in range(workers)]
        pending: deque[Any] = deque()
        try:
            for number, chunk in enumerate(chunked(items, chunk_size)):
                pending.append(pool[number % workers].run.remote(work, chunk))
                if len(pending) == workers * CHUNKS_AHEAD:
                    yield from ray.get(pending.popleft())
            while pending:
                yield from ray.get(pending.popleft())
        except ray.exceptions.RayError as error:
            raise plain_error(ray, error) from error
        finally:
            for worker in pool:  # the next map needs their processors
                ray.kill(worker)


def lend(ray: Any, load: Callable[[], Any]) -> Callable[[], Any]:
    """Return a load for the workers of Ray: those of a cluster read a ``FolderLoad`` from Ray's store.

    Each of them unpacks the folder in a temporary one, which is gone once the resource is loaded.

    Args:
        ray: the package, started.
        load: builds a worker's resource.
    """
    if isinstance(load, FolderLoad) and ADDRESS in os.environ:
        return partial(_load_stored, load, ray.put(load.pack()))
    return load


def _load_stored(load: FolderLoad[Any], stored: Any) -> Any:
    import ray

    return load.load_packed(ray.get(stored))


def plain_error(ray: Any, error: Exception) -> Exception:
    """Return what to raise in place of an error of Ray: what was raised in a worker, or one line.

    Args:
        ray: the package.
        error: a ``RayError``.
    """
    kinds = ray.exceptions
    if isinstance(error, kinds.RayTaskError) and isinstance(error.cause, Exception):
        return error.cause
    lost = (kinds.RayActorError, kinds.WorkerCrashedError, kinds.NodeDiedError, kinds.ObjectLostError)
    if isinstance(error, (*lost, kinds.OutOfMemoryError)):
        return PipelineError("a Ray worker was lost too often (out of memory?)", hint="use fewer workers")
    return PipelineError(f"Ray gave up: {str(error).strip().splitlines()[0]}")


@contextmanager
def started_ray(workers: int, *, for_data: bool = False) -> Iterator[Any]:
    """Start Ray here with one processor per worker, or join the cluster of RAY_ADDRESS; leave it in the end.

    On a cluster the program must be importable on every machine.

    Args:
        workers: processors, where Ray is started here.
        for_data: Ray Data will be used: Ray would warn of how that starts actors, on standard error.

    Raises:
        ConfigError: Ray is not installed, or the cluster cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    if for_data:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "--engine ray: Ray is not installed", hint="pip install -r requirements-cluster.txt"
        ) from error
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    # What Ray tells of a lost node, while it ends as well, is not the command's answer.
    with redirect_stdout(sys.stderr):
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


@contextmanager
def ray_chunk_map(workers: int) -> Iterator[RayChunkMap]:
    """Lend the map for as long as Ray runs; see ``started_ray``."""
    with started_ray(workers) as ray:
        yield RayChunkMap(ray)


def enter_if_there(folder: Path) -> None:
    """Let relative paths mean in this process what they mean in the one that was started by hand.

    A machine of a cluster may lack the folder. There relative paths begin where its Ray was started.
    """
    with suppress(OSError):
        os.chdir(folder)
