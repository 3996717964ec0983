"""Fit, calibrate and tune the reranker out-of-fold; then refit it on every article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import RerankConfig
from pipeline.data.folds import out_of_fold
from pipeline.entities.features import FeatureTable
from pipeline.entities.rerank.calibrate import Calibrator
from pipeline.entities.rerank.choose import NumberRule, choose, tune_rule
from pipeline.entities.rerank.ranker import Ranker
from pipeline.errors import ArtifactError, DataError


class RerankStage:
    """Ranker, calibrator and number rule of a run.

    After ``fit``: ``oof_probs_`` holds the calibrated probabilities of each training article's candidates,
    from a ranker that never saw the article's fold.
    """

    def __init__(self, config: RerankConfig, *, seed: int) -> None:
        self.config = config
        self.seed = seed

    def fit(self, table: FeatureTable, folds: Sequence[int], *, workers: int = 1) -> RerankStage:
        """Fit on a table whose fitted columns are out-of-fold under the same folds.

        Raises:
            DataError: no candidate of any article is a gold entity.
        """
        if not any(label.any() for label in table.labels):
            raise DataError("no gold entity is among the candidates of its article: nothing to learn from")
        held_out = out_of_fold(
            range(len(table.news_ids)),
            folds,
            fit=lambda rows, _: self._fit_ranker(table.select(rows)),
            apply=lambda ranker, rows: [ranker.score(table.matrices[row]) for row in rows],
            workers=workers,
            description="rerank folds",
        )
        self.calibrator_ = Calibrator.fit(held_out.results, table.labels)
        self.oof_probs_ = [self.calibrator_.probs(scores) for scores in held_out.results]
        self.rule_, self.oof_entity_f1_ = tune_rule(
            self.oof_probs_,
            table.labels,
            table.n_gold,
            table.keys,
            table.firsts,
            max_entities=self.config.max_entities,
        )
        self.ranker_ = self._fit_ranker(table)
        return self

    def _fit_ranker(self, table: FeatureTable) -> Ranker:
        return Ranker(self.config, seed=self.seed).fit(table.matrices, table.labels, table.names)

    def probs(self, matrix: np.ndarray) -> np.ndarray:
        """Return the probability of each candidate of one article: float64 (n_candidates,)."""
        return self.calibrator_.probs(self.ranker_.score(matrix))

    def choose(self, probs: np.ndarray, keys: Sequence[str], firsts: np.ndarray) -> list[int]:
        """Return the rows of the chosen candidates, the best first."""
        return choose(probs, keys, firsts, self.rule_)

    def save(self, folder: Path) -> None:
        """Write trees, feature names and importance, calibration and number rule."""
        self.ranker_.save(folder)
        thresholds = {"rule": asdict(self.rule_), "calibrator": self.calibrator_.to_dict()}
        atomic_write_json(folder / "thresholds.json", thresholds)

    @classmethod
    def load(cls, folder: Path, config: RerankConfig, *, seed: int) -> RerankStage:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        stage = cls(config, seed=seed)
        stage.ranker_ = Ranker.load(folder, config, seed=seed)
        content = read_json(folder / "thresholds.json")
        if not isinstance(content, Mapping) or not {"rule", "calibrator"} <= set(content):
            raise ArtifactError(f"{folder / 'thresholds.json'}: want rule and calibrator")
        stage.calibrator_ = Calibrator.from_dict(content["calibrator"])
        stage.rule_ = NumberRule(**content["rule"])
        return stage
