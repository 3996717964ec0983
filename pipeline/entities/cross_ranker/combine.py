"""Scores of two rerankings become one ranking: trees fitted again, or a weighted sum. All of it out-of-fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import Config, RerankConfig
from pipeline.entities.features import FeatureTable
from pipeline.entities.rerank import Calibrator, NumberRule, RerankStage
from pipeline.entities.rerank.choose import tune_rule
from pipeline.errors import ArtifactError
from pipeline.runtime.trainings import TrainingMap, train_here

COLUMNS = ("log_odds", "rank", "score", "score_rank", "score_gap")
"""What ``stack`` adds to the features: log odds and rank of the first reranking; score of the encoder, its rank, and
its distance to the article's best. The last three are NaN where the encoder read nothing."""

WEIGHTS = np.round(np.arange(0.0, 1.05, 0.1), 2)
"""Weights of the encoder that ``blend`` tries."""


def log_odds(probs: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities, kept within +-14."""
    from scipy.special import logit  # slow to import, and few runs have a cross-ranker

    return np.asarray(logit(np.clip(probs, 1e-6, 1 - 1e-6)))


@dataclass(frozen=True)
class TwoScores:
    """Both rerankings' scores of one article's candidates."""

    first: np.ndarray
    """float64 (n_candidates,): log odds of the first reranking."""
    cross: np.ndarray
    """float32 (n_candidates,): log odds of the encoder; NaN where it read nothing."""

    def columns(self) -> np.ndarray:
        """Return the values of ``COLUMNS``: float32 (n_candidates, 5)."""
        known = np.isfinite(self.cross)
        best = self.cross[known].max() if known.any() else np.nan
        rank = np.where(known, _ranks(np.where(known, self.cross, -np.inf)), np.nan)
        return np.stack([self.first, _ranks(self.first), self.cross, rank, self.cross - best], 1).astype(np.float32)

    def blended(self, weight: float) -> np.ndarray:
        """Return ``(1 - weight) * first + weight * cross``; what the encoder has not read stays below what it has."""
        known = np.isfinite(self.cross)
        if not known.any():
            return self.first
        mixed = (1 - weight) * self.first + weight * self.cross
        floor = mixed[known].min()
        behind = self.first - self.first[~known].max(initial=-np.inf)
        return np.where(known, mixed, floor + np.minimum(behind, 0.0) - 1e-3)


def _ranks(scores: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


class Stack:
    """Trees over the features and both scores.

    Learnt, as by ``Blend``: ``oof_probs_`` of each training article's candidates, ``rule_`` (how many are chosen), and
    ``oof_entity_f1_``.
    """

    def __init__(self, config: Config) -> None:
        self._stage = RerankStage(_tree_options(config), seed=config.seed)

    def fit(
        self,
        table: FeatureTable,
        scores: Sequence[TwoScores],
        folds: Sequence[int],
        *,
        folder: Path,
        workers: int = 1,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Fit trees out-of-fold and on all articles; the folder then holds them."""
        matrices = [np.hstack([matrix, both.columns()]) for matrix, both in zip(table.matrices, scores, strict=True)]
        wider = replace(table, names=_wider(table.names), matrices=matrices)
        self._stage.fit(wider, folds, folder=folder, workers=workers, training_map=training_map)
        self.rule_ = self._stage.rule_
        self.oof_probs_, self.oof_entity_f1_ = self._stage.oof_probs_, self._stage.oof_entity_f1_
        return self

    def probs(self, names: Sequence[str], matrix: np.ndarray, scores: TwoScores) -> np.ndarray:
        """Return probabilities; the features must be those of the training, in that order."""
        self._stage.model_.check_features(_wider(names))
        return self._stage.probs(np.hstack([matrix, scores.columns()]))

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what ``fit`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        stack = cls(config)
        stack._stage = RerankStage.load(folder, _tree_options(config), seed=config.seed)
        stack.rule_ = stack._stage.rule_
        return stack


def _wider(names: Sequence[str]) -> list[str]:
    return [*names, *(f"cross.{name}" for name in COLUMNS)]


def _tree_options(config: Config) -> RerankConfig:
    return replace(config.rerank, n_estimators=config.cross.n_estimators)


class Blend:
    """A weighted sum of both log odds. The weight is chosen by the log loss of the best candidates after calibration.

    An article's out-of-fold scores use the weight chosen on the other folds.
    """

    def __init__(self, config: Config) -> None:
        self._max_entities = config.rerank.max_entities

    def fit(
        self,
        table: FeatureTable,
        scores: Sequence[TwoScores],
        folds: Sequence[int],
        *,
        folder: Path,
        workers: int = 1,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Choose the weight, out-of-fold and on all articles; the work is too little for processes."""
        rows = range(len(scores))
        weights = {
            fold: _best_weight(*_known(table, scores, [row for row in rows if folds[row] != fold]))
            for fold in sorted(set(folds))
        }
        self.weight_ = _best_weight(*_known(table, scores, rows))
        held_out = [both.blended(weights[fold]) for both, fold in zip(scores, folds, strict=True)]
        self.calibrator_ = Calibrator.fit(held_out, table.labels)
        self.oof_probs_ = [self.calibrator_.probs(score) for score in held_out]
        self.rule_, self.oof_entity_f1_ = tune_rule(
            self.oof_probs_, table.labels, table.n_gold, table.keys, table.firsts, max_entities=self._max_entities
        )
        facts = {"weight": self.weight_, "rule": asdict(self.rule_), "calibrator": self.calibrator_.to_dict()}
        atomic_write_json(folder / "blend.json", facts)
        return self

    def probs(self, names: Sequence[str], matrix: np.ndarray, scores: TwoScores) -> np.ndarray:
        """Return probabilities; the features are not read."""
        return self.calibrator_.probs(scores.blended(self.weight_))

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what ``fit`` wrote.

        Raises:
            ArtifactError: the file is missing or damaged.
        """
        content = read_json(folder / "blend.json")
        if not isinstance(content, dict) or not {"weight", "rule", "calibrator"} <= set(content):
            raise ArtifactError(f"{folder / 'blend.json'}: want weight, rule and calibrator")
        blend = cls(config)
        try:
            blend.weight_ = float(content["weight"])
            blend.calibrator_ = Calibrator.from_dict(content["calibrator"])
            blend.rule_ = NumberRule.from_dict(content["rule"])
        except (AttributeError, TypeError, ValueError) as error:
            raise ArtifactError(f"{folder / 'blend.json'}: want weight, rule and calibrator ({error})") from error
        return blend


def _known(
    table: FeatureTable, scores: Sequence[TwoScores], rows: Sequence[int]
) -> tuple[list[TwoScores], list[np.ndarray]]:
    """Return scores and labels of the candidates that the encoder has read."""
    read = [np.isfinite(scores[row].cross) for row in rows]
    kept = [
        TwoScores(scores[row].first[known], scores[row].cross[known]) for row, known in zip(rows, read, strict=True)
    ]
    return kept, [table.labels[row][known] for row, known in zip(rows, read, strict=True)]


def _best_weight(scores: Sequence[TwoScores], labels: Sequence[np.ndarray]) -> float:
    gold = np.concatenate(labels)
    losses = []
    for weight in WEIGHTS:
        mixed = [both.blended(float(weight)) for both in scores]
        calibrator = Calibrator.fit(mixed, labels)
        probs = np.clip(np.concatenate([calibrator.probs(score) for score in mixed]), 1e-9, 1 - 1e-9)
        losses.append(-np.mean(np.log(np.where(gold > 0, probs, 1 - probs))))
    return float(WEIGHTS[int(np.argmin(losses))])


COMBINERS: dict[str, type[Stack] | type[Blend]] = {"stack": Stack, "blend": Blend}
"""By the value of ``cross.combine``."""
