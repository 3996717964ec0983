"""Encoder and combination of scores in one: what turns a first ranking into the final one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pipeline.config import Config
from pipeline.entities.cross_ranker.combine import COMBINERS, Blend, Stack, TwoScores, log_odds
from pipeline.entities.cross_ranker.inputs import CandidateList
from pipeline.entities.cross_ranker.stage import CrossStage, TrainingList
from pipeline.entities.features import FeatureTable
from pipeline.entities.rerank import ranking
from pipeline.runtime.trainings import TrainingMap, train_here
from pipeline.text import Document

COMBINED = "combined"
"""Folder of the combination in the stage's folder."""


class CrossReranker:
    """Reads each article's best candidates with an encoder and ranks all of them anew.

    Learnt by ``fit``: ``oof_probs_``, the final out-of-fold probabilities of each training article's candidates;
    ``oof_cross_``, the encoder's log odds, NaN where it read nothing; ``rule_``; ``oof_entity_f1_``.

    Args:
        config: options of the run; ``config.cross.name`` is not "none".
        log: file that gets a JSON line for each epoch.
    """

    def __init__(self, config: Config, *, log: Path | None = None) -> None:
        self.config = config
        self.stage = CrossStage(config, log=log)
        self.combiner: Stack | Blend = COMBINERS[config.cross.combine](config)

    def fit(
        self,
        table: FeatureTable,
        first_probs: Sequence[np.ndarray],
        documents: Sequence[Document],
        folds: Sequence[int],
        *,
        folder: Path,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Fit encoder and combination.

        Args:
            table: features of the training articles.
            first_probs: out-of-fold probabilities of the first reranking, for each article.
            documents: the articles, in the order of the table.
            folds: the fold of each article.
            folder: of the stage in the run.
            training_map: runs the trainings.

        Raises:
            DataError: no article has a gold entity among its candidates.
            ArtifactError: the encoder cannot be had.
        """
        lists, rows = [], []
        for probs, keys, firsts, labels, document in zip(
            first_probs, table.keys, table.firsts, table.labels, documents, strict=True
        ):
            best = self._best(probs, keys, firsts)
            read = [*best, *(row for row in np.flatnonzero(labels).tolist() if row not in best)]
            article = CandidateList.of(document, [keys[row] for row in read])
            lists.append(TrainingList(article, labels[read], len(best)))
            rows.append(best)
        self.stage.fit(lists, folds, folder=folder, training_map=training_map)
        self.oof_cross_ = [
            _spread(scores, best, len(probs))
            for scores, best, probs in zip(self.stage.oof_, rows, first_probs, strict=True)
        ]
        scores = [TwoScores(log_odds(probs), cross) for probs, cross in zip(first_probs, self.oof_cross_, strict=True)]
        workers, combined = self.config.workers, folder / COMBINED
        self.combiner.fit(table, scores, folds, folder=combined, workers=workers, training_map=training_map)
        self.oof_probs_, self.oof_entity_f1_ = self.combiner.oof_probs_, self.combiner.oof_entity_f1_
        self.rule_ = self.combiner.rule_
        return self

    def probs(
        self,
        document: Document,
        keys: Sequence[str],
        firsts: np.ndarray,
        names: Sequence[str],
        matrix: np.ndarray,
        first_probs: np.ndarray,
    ) -> np.ndarray:
        """Return the final probability of each candidate of one article: float64 (n_candidates,).

        Args:
            document: the article.
            keys: its candidates.
            firsts: their first positions.
            names: of the features.
            matrix: the features, float32 (n_candidates, n_features).
            first_probs: of the first reranking, float64 (n_candidates,).
        """
        if not len(keys):
            return first_probs
        best = self._best(first_probs, keys, firsts)
        (scores,) = self.stage.predict([CandidateList.of(document, [keys[row] for row in best])])
        both = TwoScores(log_odds(first_probs), _spread(scores, best, len(keys)))
        return self.combiner.probs(names, matrix, both)

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what ``fit`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged.
        """
        ranking = cls(config)
        ranking.stage = CrossStage.load(folder, config)
        ranking.combiner = COMBINERS[config.cross.combine].load(folder / COMBINED, config)
        ranking.rule_ = ranking.combiner.rule_
        return ranking

    def _best(self, probs: np.ndarray, keys: Sequence[str], firsts: np.ndarray) -> list[int]:
        return ranking(probs, keys, firsts)[: self.config.cross.top_k]


def _spread(scores: np.ndarray, rows: Sequence[int], n_candidates: int) -> np.ndarray:
    """Place the scores of some candidates among all; NaN elsewhere."""
    spread = np.full(n_candidates, np.nan, dtype=np.float32)
    spread[list(rows)] = scores
    return spread
