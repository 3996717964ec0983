"""Trainings done as on another machine: without the folder of the run."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.runtime.away import TaskAway, Trained
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.trainings import FoldedItems, Training, TrainingMap, place_of


def without_run(run: Path) -> TrainingMap:
    """Return a map that takes a folder away while something is trained."""

    def train_away(
        task: FoldTask[Any, Any, Any],
        cut: FoldedItems[Any],
        trainings: Sequence[Training],
        *,
        folder: Path,
        workers: int,
    ) -> Iterator[Training]:
        packed = pickle.dumps(TaskAway.of(task, cut))
        run.mkdir(parents=True, exist_ok=True)
        for training in trainings:
            hidden = run.rename(run.with_name(f"{run.name}, hidden"))
            sent = pickle.dumps(pickle.loads(packed).train(training))
            assert not run.exists()
            hidden.rename(run)
            trained: Trained = pickle.loads(sent)
            trained.write(place_of(folder, training.fold), log=task.log)
            yield training

    return train_away
