"""Training fold by fold: one model per fold and one on all items, each saved as soon as it is done."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from tqdm import tqdm

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json, stage_key, unpack_file
from pipeline.errors import ArtifactError
from pipeline.runtime.epoch_log import JsonLinesLog, log_to
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
Reader = TypeVar("Reader")
"""What a saved model is read as, to predict: the model, or as much of it as that takes."""


@dataclass(frozen=True)
class FoldTask(ABC, Generic[Item, Model, Result]):
    """What a stage trains in each fold.

    A task is picklable, since its trainings run in several processes. A model must depend on the task, its items and
    its fold alone: ``fit`` seeds whatever is random, and runs on a fixed number of threads.
    """

    stage: ClassVar[str]
    """Name of the stage, in logs and as label of the progress bar."""
    results_file: ClassVar[str]
    """Name of a fold's file of results; it ends with ``.json.gz``."""
    few: ClassVar[int] = 0
    """Of fewer items all models are trained before another process has started."""
    seed: int
    """Of the run."""
    base_key: str
    """Hash of all that every model rests on: options, items and folds."""
    log: Path | None
    """File that gets a JSON line for each epoch."""

    @property
    def label(self) -> str:
        """What the task's models are called beside those of other tasks: in seeds and logs."""
        return self.stage

    @property
    def is_network(self) -> bool:
        """Whether a launcher's processes share each training, so that only one runs at a time."""
        return True

    @property
    def keeps_fold_models(self) -> bool:
        """Whether the models of the folds are saved, too, because they predict."""
        return False

    def key(self, fold: int | None) -> str:
        """Return a hash of all that the model without this fold, or (None) the one on all items, rests on."""
        return stage_key(self.base_key, fold)

    def seed_of(self, fold: int | str | None) -> int:
        """Return the seed of a training; it depends on run, task and fold alone."""
        return zlib.crc32(f"{self.seed}/{self.label}/{fold}".encode())

    def epochs_of(self, fold: int | str | None) -> JsonLinesLog | None:
        """Return what the epochs of a training are told to."""
        return log_to(self.log, stage=self.stage, model=self.label, fold=fold)

    @property
    def reads(self) -> tuple[Path, ...]:
        """Files and folders of the run that ``fit`` and ``predict`` read, beside their items."""
        return ()

    def moved(self, places: Mapping[Path, Path]) -> Self:
        """Return the task as it is where what it ``reads`` lies in other places: on another machine."""
        return self

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


class FoldStage(ABC, Generic[Item, Reader, Result]):
    """A stage of one model per fold and one on all items, which predicts.

    Each training runs on one thread, in one of several processes, and is not repeated once it is done: see
    ``train_folds``.

    Learnt: ``oof_``, the result of each training item from the model that did not see its fold; ``model_``.
    """

    oof_: list[Result]
    model_: Reader

    @abstractmethod
    def read_model(self, folder: Path) -> Reader:
        """Read the model that predicts; imports what is costly to import.

        Raises:
            ArtifactError: it is missing or damaged, or does not fit the options.
        """

    def train(
        self,
        task: FoldTask[Item, Any, Result],
        items: Sequence[Item],
        folds: Sequence[int],
        *,
        folder: Path,
        workers: int,
        final: bool = True,
    ) -> Self:
        """Train what was not trained before; see ``train_folds``."""
        self.oof_ = train_folds(task, items, folds, folder=folder, workers=workers, final=final)
        return self.restore(folder) if final else self

    def restore(self, folder: Path) -> Self:
        """Read the model that predicts from the folder of the stage.

        Raises:
            ArtifactError: see ``read_model``.
        """
        self.model_ = self.read_model(folder / MODEL)
        return self


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

    The model on all items is left in ``folder / MODEL``, what belongs to a fold in ``folder / FOLDS``. Each model is
    saved once done, with the task's key beside it; it is trained again only if that key has changed. With several
    workers the trainings run in processes; one that fails stops those that have not finished, what was saved is kept.

    Args:
        task: what is trained.
        items: the training items.
        folds: the fold of each.
        folder: of the stage in the run.
        workers: trainings at a time; the results are the same for any number. One, where several processes share
            each training.
        final: whether the model on all items is wanted.

    Raises:
        ValueError: ``folds`` does not fit ``items`` or names a single fold, or a task gives too few or too many
            results.
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
    if len(names) < 2:  # a task that finds nothing to learn from says so better
        raise ValueError(f"out-of-fold scores need at least 2 folds, got {names}")
    n_processes = side_by_side(workers) if task.is_network else workers
    if len(items) < task.few and not task.is_network:
        n_processes = 1
    trainings = map_chunks(
        _train,
        jobs,
        load=partial(_Trainer, task, folder),
        workers=min(len(jobs) or 1, n_processes),
        chunk_size=1,
    )
    for _ in tqdm(trainings, desc=task.label, total=len(jobs), unit="model", disable=None):
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


def digest_of(values: Iterable[object]) -> str:
    """Hash the representations of values, one after the other: what a training rests on, for ``FoldTask.base_key``."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


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
        if job.fold is None or self.task.keeps_fold_models:
            model.save(place)
        if job.fold is not None:
            results = self.task.predict(model, job.held_out)
            if len(results) != len(job.held_out):
                raise ValueError(f"fold {job.fold}: {len(results)} results for {len(job.held_out)} items")
            content = json.dumps(results, ensure_ascii=False)
            atomic_write_bytes(place / self.task.results_file, gzip.compress(content.encode(), 6, mtime=0))
        mark_done(place, job.key)
        return place


def _train(trainer: _Trainer[Any, Any, Any], jobs: list[_Job[Any]]) -> list[Path]:
    return [trainer.run(job) for job in jobs]


def _place(folder: Path, fold: int | None) -> Path:
    return folder / MODEL if fold is None else folder / FOLDS / str(fold)


def _read(path: Path, read: Callable[[Any], Result], n_items: int) -> list[Result]:
    try:
        results = [read(value) for value in json.loads(unpack_file(path))]
        if len(results) != n_items:
            raise ValueError(f"{len(results)} results for {n_items} articles")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error
    return results
