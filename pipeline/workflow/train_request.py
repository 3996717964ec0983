"""What is asked of a training."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.artifacts import RunFolder
from pipeline.config import Config
from pipeline.data.read import BadRowPolicy, Reading
from pipeline.runtime.parallel import ChunkMap, map_chunks
from pipeline.runtime.trainings import TrainingMap, train_here


@dataclass
class TrainRequest:
    """What to train on, and how."""

    train: Sequence[Path]
    config: Config
    dev: Path | None = None
    limit: int | None = None
    skip_bad_rows: bool = False
    command: Sequence[str] = field(default_factory=list)
    preset: str | None = None
    """The preset that ``config`` began with, for manifest and figures; None where there was none."""
    reuse: Sequence[RunFolder] = ()
    """Runs whose stages are copied where they rest on the same options and data, instead of being trained again."""
    reading: Reading = field(default_factory=Reading)
    """How the files are read, where that is not recognised."""
    given: Collection[str] = ()
    """Full names of options that ``budget.minutes`` leaves as they are."""
    planned: Mapping[str, Any] = field(default_factory=dict)
    """What an earlier plan has changed, of a run that is gone on with; see ``Begun.planned``."""
    chunk_map: ChunkMap = map_chunks
    """Runs the work over articles: candidates, features, and the answers to ``dev``."""
    training_map: TrainingMap = train_here
    """Runs the trainings of each fold and on all articles."""

    @property
    def policy(self) -> BadRowPolicy:
        """What to do with malformed rows."""
        return BadRowPolicy.SKIP if self.skip_bad_rows else BadRowPolicy.STOP
