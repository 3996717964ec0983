"""Features of candidates: one ordered list of named columns, in groups."""

from pipeline.entities.features.context import FeatureContext
from pipeline.entities.features.extract import ArticleFeatures, Extractor, FeatureTable
from pipeline.entities.features.statistics import FoldedKeyCounts, KeyCounts

__all__ = ["ArticleFeatures", "Extractor", "FeatureContext", "FeatureTable", "FoldedKeyCounts", "KeyCounts"]
