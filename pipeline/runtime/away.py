"""A training on a machine that has no folder of the run: what travels there, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from pipeline.artifacts import CarriedFiles
from pipeline.runtime.epoch_log import append_lines
from pipeline.runtime.fold_task import FoldTask, Item
from pipeline.runtime.trainings import DONE, FoldedItems, Training


@dataclass(frozen=True)
class TaskAway:
    """What all trainings of a task share; it can be sent to any machine that has the program."""

    task: FoldTask[Any, Any, Any]
    cut: FoldedItems[Any]
    carried: Mapping[Path, CarriedFiles]
    """What the task reads of the run, as far as it is there."""

    @classmethod
    def of(cls, task: FoldTask[Item, Any, Any], cut: FoldedItems[Item]) -> Self:
        """Pack a task with its items and files."""
        places = dict.fromkeys([*task.reads, *task.leaves])
        return cls(task, cut, {path: CarriedFiles.of(path, without=task.scratch) for path in places})

    def train(self, training: Training) -> Trained:
        """Do a training in a temporary folder, which is gone afterwards.

        Raises:
            Exception: whatever the training raises.
        """
        with TemporaryDirectory(prefix="training-") as name:
            root = Path(name)
            places = self._new_places(root / "run")
            for path, files in self.carried.items():
                files.unpack(places[path])
            place, log = root / "model", root / "log.jsonl"
            here = replace(self.task.moved(places), log=None if self.task.log is None else log)
            training.run(here, self.cut, place)
            beside = {
                path: CarriedFiles.of(places[path], without=here.scratch).changed_from(self.carried[path])
                for path in self.task.leaves
            }
            lines = log.read_text(encoding="utf-8") if log.is_file() else ""
            return Trained(CarriedFiles.of(place), beside, lines)

    def _new_places(self, root: Path) -> dict[Path, Path]:
        """Return where on this machine the task's files and folders of the run are to be."""
        apart = [path for path in self.task.scratch if not any(path.is_relative_to(other) for other in self.carried)]
        return {path: root / str(number) / path.name for number, path in enumerate([*self.carried, *apart])}


@dataclass(frozen=True)
class Trained:
    """What a training has left."""

    model: CarriedFiles
    """The folder of the model."""
    beside: Mapping[Path, CarriedFiles]
    """By the folders that the task ``leaves`` files in: those that are new there, or others than before."""
    log: str
    """Whole lines."""

    def write(self, place: Path, *, log: Path | None) -> None:
        """Write all of it into the run, the marker last: stopped anywhere, the training is done or is not.

        Args:
            place: folder of the model.
            log: file that gets the lines of the log.

        Raises:
            ConfigError: a file cannot be written.
        """
        for folder, files in self.beside.items():
            files.unpack(folder)
        if log is not None and self.log:
            append_lines(log, self.log)
        self.model.unpack(place, last=DONE)
