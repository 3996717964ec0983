"""What a stage trains in each fold: the contract between the stages and whatever runs their trainings."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pipeline.artifacts import stage_key
from pipeline.runtime.epoch_log import JsonLinesLog, log_to


class Savable(Protocol):
    """A model that can be written to a folder."""

    def save(self, folder: Path) -> None:
        """Write the model."""
        ...


Item = TypeVar("Item")
Model = TypeVar("Model", bound=Savable)
Result = TypeVar("Result")


@dataclass(frozen=True)
class FoldTask(ABC, Generic[Item, Model, Result]):
    """What a stage trains in each fold.

    A task is picklable, since its trainings run in several processes, or on other machines. A model must depend on the
    task, its items and its fold alone: ``fit`` seeds whatever is random, and runs on a fixed number of threads.
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

    @property
    def reads(self) -> tuple[Path, ...]:
        """Files and folders of the run, beside the items, that a training reads; one need not exist."""
        return ()

    @property
    def leaves(self) -> tuple[Path, ...]:
        """Folders of the run, beside that of the model, in which a saved model leaves files."""
        return ()

    @property
    def scratch(self) -> tuple[Path, ...]:
        """Folders in which trainings keep what they could make again; nothing in them outlives the stage."""
        return ()

    def moved(self, places: Mapping[Path, Path]) -> Self:
        """Return the task with other paths for those that it ``reads``, ``leaves`` and keeps as ``scratch``.

        A scratch folder within one of the others is not among ``places``: it moves with that.
        """
        return self

    def key(self, fold: int | None) -> str:
        """Return a hash of all that the model without this fold, or (None) the one on all items, rests on."""
        return stage_key(self.base_key, fold)

    def seed_of(self, fold: int | str | None) -> int:
        """Return the seed of a training; it depends on run, task and fold alone."""
        return zlib.crc32(f"{self.seed}/{self.label}/{fold}".encode())

    def epochs_of(self, fold: int | str | None) -> JsonLinesLog | None:
        """Return what the epochs of a training are told to."""
        return log_to(self.log, stage=self.stage, model=self.label, fold=fold)

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
