"""Stage two: the emotion of an article toward each of its entities."""

from pipeline.sentiment.contexts import gold_targets, make_target
from pipeline.sentiment.scores import Scores
from pipeline.sentiment.stage import SentimentStage

__all__ = ["Scores", "SentimentStage", "gold_targets", "make_target"]
