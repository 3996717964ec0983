"""The reranker: scores, calibrated probabilities, and the choice of one to three core entities."""

from pipeline.entities.rerank.calibrate import Calibrator
from pipeline.entities.rerank.choose import NumberRule, choose, distinct, ranking, rule_f1
from pipeline.entities.rerank.rankings import OutOfFoldRankings
from pipeline.entities.rerank.stage import RerankStage
from pipeline.entities.rerank.trees import BoostedTrees

__all__ = [
    "BoostedTrees",
    "Calibrator",
    "NumberRule",
    "OutOfFoldRankings",
    "RerankStage",
    "choose",
    "distinct",
    "ranking",
    "rule_f1",
]
