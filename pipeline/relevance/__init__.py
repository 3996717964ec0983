"""How well a candidate's context fits the title: a siamese network whose out-of-fold scores the reranker reads."""

from pipeline.relevance.columns import COLUMNS, relevance_columns, with_relevance
from pipeline.relevance.pairs import ArticlePairs, article_pairs
from pipeline.relevance.stage import RelevanceStage
from pipeline.relevance.tokens import token_bounds

__all__ = [
    "COLUMNS",
    "ArticlePairs",
    "RelevanceStage",
    "article_pairs",
    "relevance_columns",
    "token_bounds",
    "with_relevance",
]
