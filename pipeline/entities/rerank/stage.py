"""Fit, calibrate and tune the reranker out-of-fold; then refit it on every article."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pipeline.artifacts import atomic_write_json, read_json, stage_key
from pipeline.config import RerankConfig, key_options
from pipeline.entities.features import FeatureTable
from pipeline.entities.features.stored_rows import LABELS, ROWS, StoredRows, map_rows, store_rows
from pipeline.entities.rerank.calibrate import Calibrator
from pipeline.entities.rerank.choose import NumberRule, tune_rule
from pipeline.entities.rerank.trees import BoostedTrees
from pipeline.errors import ArtifactError, DataError
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.fold_training import FoldStage
from pipeline.runtime.trainings import TrainingMap, train_here

THRESHOLDS = "thresholds.json"
STORE = "rows"
"""Folder, in that of the stage, with the rows of a table that was made in memory, while trees are trained."""


class RowRange(NamedTuple):
    """Where the candidates of one article are among the stored rows: light, since every process gets its items."""

    start: int
    stop: int


class RerankStage(FoldStage[RowRange, BoostedTrees, np.ndarray]):
    """BoostedTrees, calibrator and number rule of a run.

    Learnt: ``oof_probs_``, the calibrated probabilities of each training article's candidates, from a ranker that
    never saw the article's fold; ``calibrator_``; ``rule_``; ``oof_entity_f1_``; ``model_``, fitted on every article.

    Args:
        config: options of the reranker.
        seed: of the run.
    """

    def __init__(self, config: RerankConfig, *, seed: int) -> None:
        self.config = config
        self.seed = seed

    def fit(
        self,
        table: FeatureTable,
        folds: Sequence[int],
        *,
        folder: Path,
        workers: int = 1,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Fit on a table whose fitted columns are out-of-fold under the same folds; the folder then holds the stage.

        Args:
            table: features of the training articles.
            folds: the fold of each article.
            folder: of the stage in the run.
            workers: trainings at a time.
            training_map: runs the trainings.

        Raises:
            DataError: no candidate of any article is a gold entity.
        """
        if not any(label.any() for label in table.labels):
            raise DataError("no gold entity is among the candidates of its article: nothing to learn from")
        store = table.stored or folder / STORE
        if table.stored is None:
            store_rows(store, table.matrices, table.labels)
        stops = np.cumsum([len(label) for label in table.labels]).tolist()
        ranges = [RowRange(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]
        options = key_options(self.config) | {"max_entities": None}  # of the number rule
        key = stage_key(options, self.seed, table.names, _digest(store), ranges, list(folds))
        task = _TreesTask(self.seed, key, None, self.config, tuple(table.names), store)
        self.train(task, ranges, folds, folder=folder, workers=workers, training_map=training_map)
        if table.stored is None:
            shutil.rmtree(store)
        self.calibrator_ = Calibrator.fit(self.oof_, table.labels)
        self.oof_probs_ = [self.calibrator_.probs(scores) for scores in self.oof_]
        self.rule_, self.oof_entity_f1_ = tune_rule(
            self.oof_probs_,
            table.labels,
            table.n_gold,
            table.keys,
            table.firsts,
            max_entities=self.config.max_entities,
        )
        thresholds = {"rule": asdict(self.rule_), "calibrator": self.calibrator_.to_dict()}
        atomic_write_json(folder / THRESHOLDS, thresholds)
        return self

    def probs(self, matrix: np.ndarray) -> np.ndarray:
        """Return the probability of each candidate of one article: float64 (n_candidates,)."""
        return self.calibrator_.probs(self.model_.score(matrix))

    def read_model(self, folder: Path) -> BoostedTrees:
        """Read the trees that predict.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        earlier = folder.parent  # runs of before 0.2.0 keep them beside the thresholds
        return BoostedTrees.load(folder if folder.is_dir() else earlier, self.config, seed=self.seed)

    @classmethod
    def load(cls, folder: Path, config: RerankConfig, *, seed: int) -> Self:
        """Read what ``fit`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        stage = cls(config, seed=seed).restore(folder)
        content = read_json(folder / THRESHOLDS)
        if not isinstance(content, Mapping) or not {"rule", "calibrator"} <= set(content):
            raise ArtifactError(f"{folder / THRESHOLDS}: want rule and calibrator")
        try:
            stage.calibrator_ = Calibrator.from_dict(content["calibrator"])
            stage.rule_ = NumberRule.from_dict(content["rule"])
        except (AttributeError, TypeError, ValueError) as error:
            raise ArtifactError(f"{folder / THRESHOLDS}: not rule and calibrator ({error})") from error
        return stage


@dataclass(frozen=True)
class _TreesTask(FoldTask[RowRange, BoostedTrees, np.ndarray]):
    """Trees; every fold has the same seed, so that they differ by their articles alone."""

    stage: ClassVar[str] = "rerank"
    results_file: ClassVar[str] = "scores.json.gz"
    few: ClassVar[int] = 250

    config: RerankConfig
    names: tuple[str, ...]
    store: Path
    """Folder of the rows that the items are ranges of."""

    @property
    def is_network(self) -> bool:
        return False

    @property
    def reads(self) -> tuple[Path, ...]:
        return (self.store,)

    def moved(self, places: Mapping[Path, Path]) -> Self:
        return replace(self, store=places.get(self.store, self.store))

    @cached_property
    def rows(self) -> StoredRows:
        """The rows, mapped into memory."""
        return map_rows(self.store)

    def fit(self, items: list[RowRange], fold: int | None) -> BoostedTrees:
        matrix, labels = self.rows
        matrices, gold = [matrix[start:stop] for start, stop in items], [labels[start:stop] for start, stop in items]
        return BoostedTrees(self.config, seed=self.seed).fit(matrices, gold, self.names)

    def predict(self, model: BoostedTrees, items: list[RowRange]) -> list[Any]:
        matrix = self.rows.matrix
        return [model.score(matrix[start:stop]).tolist() for start, stop in items]

    def read(self, value: Any) -> np.ndarray:
        return np.array(value, dtype=np.float64)


def _digest(store: Path) -> str:
    """Hash the stored rows and their labels."""
    digest = hashlib.sha256()
    for name in (ROWS, LABELS):
        with (store / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
