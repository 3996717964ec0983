"""How well a candidate's context fits the title: a siamese network whose out-of-fold scores the reranker reads."""

from pipeline.entities.relevance.columns import COLUMNS, relevance_columns, with_relevance
from pipeline.entities.relevance.pairs import ArticlePairs, article_pairs
from pipeline.entities.relevance.stage import RelevanceStage
from pipeline.entities.relevance.tokens import read_stopwords, token_bounds

__all__ = [
    "COLUMNS",
    "ArticlePairs",
    "RelevanceStage",
    "article_pairs",
    "read_stopwords",
    "relevance_columns",
    "token_bounds",
    "with_relevance",
]
