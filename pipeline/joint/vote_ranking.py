"""The joint tagger's own order of an article's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from pipeline.entities.rerank import Calibrator, NumberRule, OutOfFoldRankings
from pipeline.errors import ArtifactError
from pipeline.joint.votes import NameVotes

OwnScore = Literal["noisy_or", "sum"]


class VoteRanking:
    """Scores of names from their mentions alone, calibrated within the article as the reranker's are.

    Args:
        score: ``noisy_or``, the log odds of 1 - prod(1 - p) over the mentions; or ``sum``, the logarithm of the
            summed probabilities.
    """

    def __init__(self, score: OwnScore) -> None:
        self.score = score

    def fit(
        self,
        votes: Sequence[NameVotes],
        gold: Sequence[set[str]],
        *,
        news_ids: Sequence[str],
        folds: Sequence[int],
        max_entities: int,
    ) -> VoteRanking:
        """Calibrate and tune the number rule on out-of-fold votes; one entry of each argument per article.

        Learnt: ``ranked_``, the names with their probabilities; ``rule_``; ``oof_entity_f1_``.
        """
        labels = [
            np.array([key in names for key in own.keys], np.float32) for own, names in zip(votes, gold, strict=True)
        ]
        scores = [self.scores(own) for own in votes]
        self.calibrator_ = Calibrator.fit(scores, labels) if any(map(len, scores)) else Calibrator((1.0, 0.0, 0.0), 0.0)
        self.ranked_ = OutOfFoldRankings(
            news_ids=news_ids,
            folds=folds,
            keys=[own.keys for own in votes],
            firsts=[own.firsts for own in votes],
            probs=[self.calibrator_.probs(score) for score in scores],
            labels=labels,
            n_gold=[len(names) for names in gold],
        )
        self.rule_, self.oof_entity_f1_ = self.ranked_.tune(max_entities=max_entities)
        return self

    def scores(self, votes: NameVotes) -> np.ndarray:
        """Return the raw score of each name: float64 (n_names,)."""
        if self.score == "sum":
            return np.log(votes.emotions.sum(1).clip(min=1e-9))
        log_miss = votes.log_misses.clip(max=-1e-9)
        return np.log(-np.expm1(log_miss)) - log_miss

    def probs(self, votes: NameVotes) -> np.ndarray:
        """Return the probability of each name that it is a core entity: float64 (n_names,)."""
        return self.calibrator_.probs(self.scores(votes))

    def to_dict(self) -> dict[str, Any]:
        """Return what was learnt as JSON values."""
        return {"score": self.score, "calibrator": self.calibrator_.to_dict(), "rule": asdict(self.rule_)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> VoteRanking:
        """Rebuild from ``to_dict``.

        Raises:
            ArtifactError: parameters are missing.
        """
        try:
            ranking = cls(values["score"])
            ranking.calibrator_ = Calibrator.from_dict(values["calibrator"])
            ranking.rule_ = NumberRule.from_dict(values["rule"])
        except (LookupError, TypeError, ValueError) as error:
            raise ArtifactError(f"joint ranking: want score, calibrator and rule ({error})") from error
        return ranking
