"""The second reranking: an encoder reads the best candidates in context; its scores join those of the first."""

from pipeline.entities.cross_ranker.first_pass import FirstPass
from pipeline.entities.cross_ranker.reranker import CrossReranker

__all__ = ["CrossReranker", "FirstPass"]
