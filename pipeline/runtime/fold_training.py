"""Training fold by fold: one model per fold and one on all items, each saved as soon as it is done."""

from __future__ import annotations

import hashlib
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from tqdm import tqdm

from pipeline.artifacts import unpack_file
from pipeline.errors import ArtifactError
from pipeline.runtime.fold_task import FoldTask, Item, Model, Result
from pipeline.runtime.trainings import MODEL, FoldedItems, Training, TrainingMap, is_done, place_of, train_here

Reader = TypeVar("Reader")
"""What a saved model is read as, to predict: the model, or as much of it as that takes."""


class FoldStage(ABC, Generic[Item, Reader, Result]):
    """A stage of one model per fold and one on all items, which predicts.

    Each training runs on one thread, in one of several processes, here or elsewhere, and is not repeated once it is
    done: see ``train_folds``.

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
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Train what was not trained before; see ``train_folds``."""
        self.oof_ = train_folds(
            task, items, folds, folder=folder, workers=workers, final=final, training_map=training_map
        )
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
    training_map: TrainingMap = train_here,
) -> list[Result]:
    """Train what was not trained before, and return the result of each item from the model that did not see its fold.

    The model on all items is left in ``folder / MODEL``, what belongs to a fold in ``folder / FOLDS``. Each model is
    saved once done, with the task's key beside it; it is trained again only if that key has changed. One training that
    fails stops those that have not finished; what was saved is kept.

    Args:
        task: what is trained.
        items: the training items.
        folds: the fold of each.
        folder: of the stage in the run.
        workers: trainings at a time; the results are the same for any number. One, where several processes share
            each training.
        final: whether the model on all items is wanted.
        training_map: runs the trainings; by default processes of this machine.

    Raises:
        ValueError: ``folds`` does not fit ``items`` or names a single fold, or a task gives too few or too many
            results.
        DataError: the task finds nothing to learn from.
        ArtifactError: the results of a fold cannot be read.
        PipelineError: a process or machine was lost.
    """
    if len(folds) != len(items):
        raise ValueError(f"{len(items)} items but {len(folds)} folds")
    names, cut = sorted(set(folds)), FoldedItems(items, folds)
    trainings = []
    for fold in (*names, None) if final else names:
        if not is_done(place_of(folder, fold), key := task.key(fold)):
            task.select(cut.without(fold))  # what it has to say is said before any is trained
            trainings.append(Training(fold, key))
    if len(names) < 2:  # a task that finds nothing to learn from says so better
        raise ValueError(f"out-of-fold scores need at least 2 folds, got {names}")
    done = training_map(task, cut, trainings, folder=folder, workers=workers)
    for _ in tqdm(done, desc=task.label, total=len(trainings), unit="model", disable=None):
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
    found = {fold: iter(_read(place_of(folder, fold) / file, read, folds.count(fold))) for fold in sorted(set(folds))}
    return [next(found[fold]) for fold in folds]


def digest_of_list(items: Sequence[object]) -> str:
    """Return ``digest_of([list(items)])`` without the representation of all items in memory at once."""
    separators = itertools.chain(["["], itertools.repeat(", "))
    digest = hashlib.sha256()
    for separator, item in zip(separators, items, strict=False):
        digest.update(f"{separator}{item!r}".encode("utf-8", "surrogatepass"))
    digest.update(b"]" if items else b"[]")
    return digest.hexdigest()


def digest_of(values: Iterable[object]) -> str:
    """Hash the representations of values, one after the other: what a training rests on, for ``FoldTask.base_key``."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _read(path: Path, read: Callable[[Any], Result], n_items: int) -> list[Result]:
    try:
        results = [read(value) for value in json.loads(unpack_file(path))]
        if len(results) != n_items:
            raise ValueError(f"{len(results)} results for {n_items} articles")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error
    return results
