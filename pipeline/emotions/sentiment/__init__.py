"""Stage two: the emotion of an article toward each of its entities."""

from pipeline.emotions.sentiment.contexts import gold_targets, make_target
from pipeline.emotions.sentiment.scores import Scores
from pipeline.emotions.sentiment.stage import SentimentStage

__all__ = ["Scores", "SentimentStage", "gold_targets", "make_target"]
