"""What runs the work over articles and the trainings: processes of this machine, or Ray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from pipeline.runtime.parallel import ChunkMap
    from pipeline.runtime.trainings import TrainingMap


class Engine(StrEnum):
    """What runs the workers."""

    LOCAL = "local"
    RAY = "ray"


EngineName = Annotated[
    Engine,
    typer.Option("--engine", help="What runs the workers; ray starts here, or joins the cluster of RAY_ADDRESS."),
]


def chunk_map_of(engine: Engine, workers: int) -> AbstractContextManager[ChunkMap]:
    """Lend the engine's map over chunks of articles for as long as the engine runs.

    Raises:
        ConfigError: on entry, where the engine cannot be started.
    """
    if engine is Engine.RAY:
        from pipeline.runtime.ray_engine import ray_chunk_map

        return ray_chunk_map(workers)
    from pipeline.runtime.parallel import map_chunks

    return nullcontext(map_chunks)


@contextmanager
def maps_of(engine: Engine, workers: int) -> Iterator[tuple[ChunkMap, TrainingMap]]:
    """Lend the engine's maps over chunks of articles and over trainings, for as long as the engine runs.

    Raises:
        ConfigError: the engine cannot be started, or does not go with the launcher that started this process.
    """
    from pipeline.runtime.processes import n_processes

    if engine is Engine.RAY:
        if n_processes() > 1:
            raise ConfigError("--engine ray: a launcher's processes train together", hint="start it without a launcher")
        from pipeline.runtime.ray_engine import RayChunkMap, started_ray
        from pipeline.runtime.ray_training import RayTrainingMap

        with started_ray(workers) as ray:
            yield RayChunkMap(ray), RayTrainingMap(ray)
    else:
        from pipeline.runtime.parallel import map_chunks
        from pipeline.runtime.trainings import train_here

        yield map_chunks, train_here
