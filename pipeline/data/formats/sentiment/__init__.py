"""Rows with a sentiment: texts with a label, and texts with marked targets."""

from pipeline.data.formats.sentiment.files import iter_sentiment_objects
from pipeline.data.formats.sentiment.readers import (
    TARGETS,
    category_examples,
    category_targets,
    document_examples,
    document_targets,
    marked_targets,
    target_entries,
    target_examples,
)
from pipeline.data.formats.sentiment.row import RowKind, SentimentRow
from pipeline.data.names import CATEGORY, LABEL, TARGET

__all__ = [
    "CATEGORY",
    "LABEL",
    "TARGET",
    "TARGETS",
    "RowKind",
    "SentimentRow",
    "category_examples",
    "category_targets",
    "document_examples",
    "document_targets",
    "iter_sentiment_objects",
    "marked_targets",
    "target_entries",
    "target_examples",
]
