"""The trainings of a task by fold: what one is and leaves in its folder, and what runs them: here, local processes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json
from pipeline.runtime.fold_task import FoldTask, Item
from pipeline.runtime.parallel import map_chunks
from pipeline.runtime.processes import side_by_side

MODEL, FOLDS, DONE = "model", "folds", "done.json"
"""Names in the folder of a stage: of the model that predicts, of what belongs to each fold, of what says it is done."""


def place_of(folder: Path, fold: int | None) -> Path:
    """Return where in the folder of a stage a training leaves its files."""
    return folder / MODEL if fold is None else folder / FOLDS / str(fold)


def is_done(folder: Path, key: str) -> bool:
    """Tell whether ``mark_done`` was called with this key."""
    marker = folder / DONE
    return marker.is_file() and read_json(marker) == {"key": key}


def mark_done(folder: Path, key: str) -> None:
    """Note what the folder's content rests on; to be called once that is complete."""
    atomic_write_json(folder / DONE, {"key": key})


@dataclass(frozen=True)
class FoldedItems(Generic[Item]):
    """Training items, and the fold of each: what all trainings of a task have in common."""

    items: Sequence[Item]
    folds: Sequence[int]

    def without(self, fold: int | None) -> list[Item]:
        """Return the items of all other folds, or (None) all of them."""
        return [item for item, other in zip(self.items, self.folds, strict=True) if other != fold]

    def of(self, fold: int | None) -> list[Item]:
        """Return the items of a fold; of None, which is no fold, there are none."""
        return [item for item, other in zip(self.items, self.folds, strict=True) if other == fold]


@dataclass(frozen=True)
class Training:
    """One training: without a fold, or (None) on all items."""

    fold: int | None
    key: str
    """Of the task, for this fold."""

    @property
    def name(self) -> str:
        """What it is called beside the task's other trainings."""
        return "all items" if self.fold is None else f"without fold {self.fold}"

    def run(self, task: FoldTask[Item, Any, Any], cut: FoldedItems[Item], place: Path) -> None:
        """Train a model, and save it or its results in a folder, the marker last.

        Raises:
            ValueError: the task gives too few or too many results.
        """
        model = task.fit(task.select(cut.without(self.fold)), self.fold)
        if self.fold is None or task.keeps_fold_models:
            model.save(place)
        if self.fold is not None:
            held_out = cut.of(self.fold)
            results = task.predict(model, held_out)
            if len(results) != len(held_out):
                raise ValueError(f"fold {self.fold}: {len(results)} results for {len(held_out)} items")
            content = json.dumps(results, ensure_ascii=False)
            atomic_write_bytes(place / task.results_file, gzip.compress(content.encode(), 6, mtime=0))
        mark_done(place, self.key)


class TrainingMap(Protocol):
    """Runs the trainings of a task: ``train_here``, or the same on another engine."""

    def __call__(
        self,
        task: FoldTask[Item, Any, Any],
        cut: FoldedItems[Item],
        trainings: Sequence[Training],
        *,
        folder: Path,
        workers: int,
    ) -> Iterator[Training]:
        """Do each training (``Training.run``), and yield it once its files are in their place (``place_of``).

        Args:
            task: what is trained.
            cut: the training items.
            trainings: those that were not done before; each finished one is kept, whatever becomes of the others.
            folder: of the stage in the run.
            workers: trainings at a time; what they leave is the same for any number.

        Raises:
            PipelineError: a process or machine was lost; and whatever a training raises.
        """
        ...


def train_here(
    task: FoldTask[Item, Any, Any],
    cut: FoldedItems[Item],
    trainings: Sequence[Training],
    *,
    folder: Path,
    workers: int,
) -> Iterator[Training]:
    """Do each training in one of several processes of this machine; see ``TrainingMap``.

    One training that fails stops those that have not finished. Networks whose training a launcher's processes share
    are trained one after another, and few items (``FoldTask.few``) in this process.
    """
    n_processes = side_by_side(workers) if task.is_network else workers
    if len(cut.items) < task.few and not task.is_network:
        n_processes = 1
    return map_chunks(
        _train,
        trainings,
        load=partial(_Trainer, task, cut, folder),
        workers=min(len(trainings) or 1, n_processes),
        chunk_size=1,
    )


@dataclass(frozen=True)
class _Trainer(Generic[Item]):
    """What each process holds."""

    task: FoldTask[Item, Any, Any]
    cut: FoldedItems[Item]
    folder: Path


def _train(trainer: _Trainer[Any], trainings: list[Training]) -> list[Training]:
    for training in trainings:
        training.run(trainer.task, trainer.cut, place_of(trainer.folder, training.fold))
    return trainings
