"""The reranker: scores, calibrated probabilities, and the choice of one to three core entities."""

from pipeline.entities.rerank.calibrate import Calibrator
from pipeline.entities.rerank.choose import NumberRule, choose, distinct, ranking, rule_f1
from pipeline.entities.rerank.ranked import RankedNames
from pipeline.entities.rerank.ranker import Ranker
from pipeline.entities.rerank.stage import RerankStage

__all__ = [
    "Calibrator",
    "NumberRule",
    "RankedNames",
    "Ranker",
    "RerankStage",
    "choose",
    "distinct",
    "ranking",
    "rule_f1",
]
