"""A task of trainings by fold whose models only count, and a folder to train it in."""

from __future__ import annotations

import json
import os
import random
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pipeline.errors import ArtifactError, DataError
from pipeline.runtime.fold_task import FoldTask, Result
from pipeline.runtime.fold_training import train_folds
from pipeline.runtime.trainings import TrainingMap, train_here

ITEMS = ["青", "禾", "云", "杉", "", "银", "杏", "松"]
TEACHING = [item for item in ITEMS if item]
OF_ITEMS = [0, 1, 2, 0, 1, 2, 0, 1]
LOG = "log.txt"


@dataclass
class Learnt:
    """What a model was trained on, and by which draw."""

    items: list[str]
    draw: float

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "learnt.json").write_text(json.dumps([self.items, self.draw], ensure_ascii=False))


@dataclass(frozen=True)
class CountingTask(FoldTask[str, Learnt, tuple[str, int, float]]):
    """Its models answer each item with it, the number of items they learnt from, and a number drawn in training."""

    stage: ClassVar[str] = "counting"
    results_file: ClassVar[str] = "counts.json.gz"

    option: int = 0
    fails_at: int | None = None
    dies_at: int | None = None
    waits_from: int | None = None

    def key(self, fold: int | None) -> str:
        return f"{self.option}/{fold}"

    def select(self, items: list[str]) -> list[str]:
        if not any(items):
            raise DataError("nothing to count")
        return [item for item in items if item]

    def fit(self, items: list[str], fold: int | None) -> Learnt:
        assert self.log is not None
        with self.log.open("a") as file:
            file.write(f"{fold}\n")
        if self.waits_from is not None and (fold is None or fold >= self.waits_from):
            (self.log.parent / f"{os.getpid()}.pid").touch()
            time.sleep(600)
        if fold == self.dies_at is not None:
            os._exit(1)
        if fold == self.fails_at is not None:
            raise ArtifactError(f"fold {fold} cannot be learnt", hint="take another")
        return Learnt(items, random.Random(f"{self.option}/{fold}").random())

    def predict(self, model: Learnt, items: list[str]) -> list[Any]:
        return [(item, len(model.items), model.draw) for item in items]

    def read(self, value: Any) -> tuple[str, int, float]:
        item, count, draw = value
        return str(item), int(count), float(draw)


@dataclass
class Bench:
    """A folder of a stage, what runs trainings in it, and what was trained in it."""

    folder: Path
    training_map: TrainingMap = train_here

    def __post_init__(self) -> None:
        self.task = CountingTask(7, "", self.folder / LOG)

    def train(self, workers: int = 1, **options: Any) -> list[tuple[str, int, float]]:
        return self.train_task(replace(self.task, **options), workers)

    def train_task(self, task: FoldTask[str, Any, Result], workers: int) -> list[Result]:
        return train_folds(task, ITEMS, OF_ITEMS, folder=self.folder, workers=workers, training_map=self.training_map)

    def trained(self) -> list[str]:
        """Return the folds trained since this was last asked; processes note them in any order."""
        log = self.folder / LOG
        found = sorted(log.read_text().split()) if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    @property
    def contents(self) -> dict[str, bytes]:
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.name != LOG)
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}
