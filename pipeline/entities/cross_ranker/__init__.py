"""The second reranking: an encoder reads the best candidates in context; its scores join those of the first."""

from pipeline.entities.cross_ranker.first_ranking import FirstRanking
from pipeline.entities.cross_ranker.second_ranking import SecondRanking

__all__ = ["FirstRanking", "SecondRanking"]
