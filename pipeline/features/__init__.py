"""Features of candidates: one ordered list of named columns, in groups."""

from pipeline.features.context import FeatureContext
from pipeline.features.extract import ArticleFeatures, Extractor, FeatureTable
from pipeline.features.statistics import FoldedKeyCounts, KeyCounts

__all__ = ["ArticleFeatures", "Extractor", "FeatureContext", "FeatureTable", "FoldedKeyCounts", "KeyCounts"]
