"""Training fold by fold: one model a fold and one on all items, each saved as soon as it is done."""

from __future__ import annotations

import gzip
import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from tqdm import tqdm

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json
from pipeline.errors import ArtifactError
from pipeline.runtime.parallel import map_chunks
from pipeline.runtime.processes import side_by_side

MODEL, FOLDS, DONE = "model", "folds", "done.json"
"""Names in the folder of a stage: of the model that predicts, of what belongs to each fold, of what says it is done."""


class Savable(Protocol):
    """A model that can be written to a folder."""

    def save(self, folder: Path) -> None:
        """Write the model."""
        ...


Item = TypeVar("Item")
Model = TypeVar("Model", bound=Savable)
Result = TypeVar("Result")


class FoldTask(ABC, Generic[Item, Model, Result]):
    """What a stage trains in each fold.

    A task is picklable, since its trainings run in several processes. A model must depend on the task, its items and
    its fold alone: ``fit`` seeds whatever is random, and runs on a fixed number of threads.
    """

    name: ClassVar[str]
    """Label of the progress bar."""
    results_file: ClassVar[str]
    """Name of a fold's file of results; it ends with ``.json.gz``."""

    @abstractmethod
    def key(self, fold: int | None) -> str:
        """Return a hash of all that the model without this fold, or (None) the one on all items, rests on."""

    def select(self, items: list[Item]) -> list[Item]:
        """Return those of the items that a model is trained on: all of them, unless overridden.

        Called for every model before any is trained.

        Raises:
            DataError: there is nothing to learn from.
        """
        return items

    @abstractmethod
    def fit(self, items: list[Item], fold: int | None) -> Model:
        """Train the model without this fold, or (None) the one on all items."""

    @abstractmethod
    def predict(self, model: Model, items: list[Item]) -> list[Any]:
        """Return the result of each item that was held out, in order, as a value that JSON can hold."""

    @abstractmethod
    def read(self, value: Any) -> Result:
        """Return the result that was written as this value; a ValueError or TypeError means that it is damaged."""


def train_folds(
    task: FoldTask[Item, Model, Result],
    items: Sequence[Item],
    folds: Sequence[int],
    *,
    folder: Path,
    workers: int,
    final: bool = True,
) -> list[Result]:
    """Train what was not trained before, and return the result of each item from the model that did not see its fold.

    The model on all items is left in ``folder / MODEL``. Each model is saved once done, with the task's key beside it;
    it is trained again only if that key has changed. With several workers the trainings run in processes; one that
    fails stops those that have not finished, what was saved is kept.

    Args:
        task: what is trained.
        items: the training items.
        folds: the fold of each.
        folder: of the stage in the run.
        workers: trainings at a time; the results are the same for any number. One, where several processes share
            each training.
        final: whether the model on all items is wanted.

    Raises:
        ValueError: ``folds`` does not fit ``items``.
        DataError: the task finds nothing to learn from.
        ArtifactError: the results of a fold cannot be read.
        PipelineError: a process died.
    """
    if len(folds) != len(items):
        raise ValueError(f"{len(items)} items but {len(folds)} folds")
    names = sorted(set(folds))
    jobs = []
    for fold in (*names, None) if final else names:
        if not is_done(_place(folder, fold), key := task.key(fold)):
            rest = task.select([item for item, other in zip(items, folds, strict=True) if other != fold])
            held_out = [item for item, other in zip(items, folds, strict=True) if other == fold]
            jobs.append(_Job(fold, key, rest, held_out))
    trainings = map_chunks(
        _train, jobs, load=partial(_Trainer, task, folder), workers=side_by_side(workers), chunk_size=1
    )
    for _ in tqdm(trainings, desc=task.name, total=len(jobs), unit="model", disable=None):
        pass
    return read_results(folder, folds, file=task.results_file, read=task.read)


def read_results(folder: Path, folds: Sequence[int], *, file: str, read: Callable[[Any], Result]) -> list[Result]:
    """Return what ``train_folds`` has left of each item.

    Args:
        folder: of the stage in the run.
        folds: the fold of each item.
        file: name of a fold's file of results.
        read: as ``FoldTask.read``.

    Raises:
        ArtifactError: the results of a fold cannot be read, or are not those of so many items.
    """
    found = {fold: iter(_read(_place(folder, fold) / file, read, folds.count(fold))) for fold in sorted(set(folds))}
    return [next(found[fold]) for fold in folds]


def is_done(folder: Path, key: str) -> bool:
    """Tell whether ``mark_done`` was called with this key."""
    marker = folder / DONE
    return marker.is_file() and read_json(marker) == {"key": key}


def mark_done(folder: Path, key: str) -> None:
    """Note what the folder's content rests on; to be called once that is complete."""
    atomic_write_json(folder / DONE, {"key": key})


@dataclass(frozen=True)
class _Job(Generic[Item]):
    """One training: without a fold, or (None) on all items."""

    fold: int | None
    key: str
    rest: list[Item]
    held_out: list[Item]


@dataclass(frozen=True)
class _Trainer(Generic[Item, Model, Result]):
    """What each process holds."""

    task: FoldTask[Item, Model, Result]
    folder: Path

    def run(self, job: _Job[Item]) -> Path:
        """Train a model, save it or its results, the marker last, and return their folder."""
        place = _place(self.folder, job.fold)
        model = self.task.fit(job.rest, job.fold)
        if job.fold is None:
            model.save(place)
        else:
            content = json.dumps(self.task.predict(model, job.held_out), ensure_ascii=False)
            atomic_write_bytes(place / self.task.results_file, gzip.compress(content.encode(), 6, mtime=0))
        mark_done(place, job.key)
        return place


def _train(trainer: _Trainer[Any, Any, Any], jobs: list[_Job[Any]]) -> list[Path]:
    return [trainer.run(job) for job in jobs]


def _place(folder: Path, fold: int | None) -> Path:
    return folder / MODEL if fold is None else folder / FOLDS / str(fold)


def _read(path: Path, read: Callable[[Any], Result], n_items: int) -> list[Result]:
    try:
        results = [read(value) for value in json.loads(gzip.decompress(path.read_bytes()))]
        if len(results) != n_items:
            raise ValueError(f"{len(results)} results for {n_items} articles")
    except (OSError, EOFError, ValueError, TypeError, zlib.error) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error
    return results
