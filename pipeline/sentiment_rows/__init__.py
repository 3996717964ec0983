"""Rows with a sentiment: texts with a label, texts with marked targets, and labelled articles."""

from pipeline.sentiment_rows.files import SentimentFile, read_rows, read_targets, row_kind
from pipeline.sentiment_rows.row import RowKind, SentimentRow

__all__ = ["RowKind", "SentimentFile", "SentimentRow", "read_rows", "read_targets", "row_kind"]
