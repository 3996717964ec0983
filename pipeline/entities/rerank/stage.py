"""Fit, calibrate and tune the reranker out-of-fold; then refit it on every article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pipeline.artifacts import atomic_write_json, read_json, stage_key
from pipeline.config import RerankConfig
from pipeline.entities.features import FeatureTable
from pipeline.entities.rerank.calibrate import Calibrator
from pipeline.entities.rerank.choose import NumberRule, tune_rule
from pipeline.entities.rerank.trees import BoostedTrees
from pipeline.errors import ArtifactError, DataError
from pipeline.runtime.fold_training import FoldStage, FoldTask, digest_of

THRESHOLDS = "thresholds.json"


class ArticleRows(NamedTuple):
    """The candidates of one article, as the trees learn from them."""

    matrix: np.ndarray
    """float32 (n_candidates, n_features)."""
    labels: np.ndarray
    """float32 (n_candidates,): 1 for gold entities."""


class RerankStage(FoldStage[ArticleRows, BoostedTrees, np.ndarray]):
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

    def fit(self, table: FeatureTable, folds: Sequence[int], *, folder: Path, workers: int = 1) -> Self:
        """Fit on a table whose fitted columns are out-of-fold under the same folds; the folder then holds the stage.

        Args:
            table: features of the training articles.
            folds: the fold of each article.
            folder: of the stage in the run.
            workers: trainings at a time.

        Raises:
            DataError: no candidate of any article is a gold entity.
        """
        if not any(label.any() for label in table.labels):
            raise DataError("no gold entity is among the candidates of its article: nothing to learn from")
        rows = [ArticleRows(matrix, labels) for matrix, labels in zip(table.matrices, table.labels, strict=True)]
        facts = digest_of(
            part for row in rows for part in (row.matrix.shape, row.matrix.tobytes(), row.labels.tobytes())
        )
        options = asdict(self.config) | {"max_entities": None}  # of the number rule
        key = stage_key(options, self.seed, table.names, facts, list(folds))
        task = _TreesTask(self.seed, key, None, self.config, tuple(table.names))
        self.train(task, rows, folds, folder=folder, workers=workers)
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
class _TreesTask(FoldTask[ArticleRows, BoostedTrees, np.ndarray]):
    """Trees; every fold has the same seed, so that they differ by their articles alone."""

    stage: ClassVar[str] = "rerank"
    results_file: ClassVar[str] = "scores.json.gz"
    few: ClassVar[int] = 250

    config: RerankConfig
    names: tuple[str, ...]

    @property
    def is_network(self) -> bool:
        return False

    def fit(self, items: list[ArticleRows], fold: int | None) -> BoostedTrees:
        matrices, labels = zip(*items, strict=True)
        return BoostedTrees(self.config, seed=self.seed).fit(matrices, labels, self.names)

    def predict(self, model: BoostedTrees, items: list[ArticleRows]) -> list[Any]:
        return [model.score(row.matrix).tolist() for row in items]

    def read(self, value: Any) -> np.ndarray:
        return np.array(value, dtype=np.float64)
