"""What runs the work over articles: processes of this machine, or Ray; and what runs an encoder in each."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.runtime.parallel import ChunkMap


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
