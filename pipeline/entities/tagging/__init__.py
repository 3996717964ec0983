"""Stage one's tagger: out-of-fold span scores for training articles, scores for new ones, and what follows from them.

A score is the probability that a span names a core entity of its article. It offers candidates, and describes them.
"""

from pipeline.entities.tagging.spans import (
    COLUMNS,
    article_text,
    gold_text,
    mention_spans,
    tagger_columns,
    tagger_keys,
)
from pipeline.entities.tagging.stage import TaggerStage, out_of_fold_spans

__all__ = [
    "COLUMNS",
    "TaggerStage",
    "article_text",
    "gold_text",
    "mention_spans",
    "out_of_fold_spans",
    "tagger_columns",
    "tagger_keys",
]
