"""Every score of the project: the competition's, labels, and spans. Pure functions, no files.

Two rules for what is neither wanted nor given. In the competition's score (``score``) such an article counts 1, as the
organisers have it. In macro-F1 of labels and spans (``labels``, ``spans``) such a class does not count at all.
"""

from pipeline.metric.counts import Counts
from pipeline.metric.labels import LabelScores
from pipeline.metric.overlap import Outcomes, score_overlap
from pipeline.metric.score import (
    FIGURES,
    PRF,
    Difference,
    EntitiesById,
    Evaluation,
    Interval,
    article_f1,
    article_scores,
    bootstrap_means,
    emotion_f1,
    entity_f1,
    evaluate,
    format_evaluation,
    hit_counts,
    mean_gain,
    paired_difference,
    ratio_gain,
)
from pipeline.metric.spans import Averages, TagScores, score_spans, span_f1

__all__ = [
    "FIGURES",
    "PRF",
    "Averages",
    "Counts",
    "Difference",
    "EntitiesById",
    "Evaluation",
    "Interval",
    "LabelScores",
    "Outcomes",
    "TagScores",
    "article_f1",
    "article_scores",
    "bootstrap_means",
    "emotion_f1",
    "entity_f1",
    "evaluate",
    "format_evaluation",
    "hit_counts",
    "mean_gain",
    "paired_difference",
    "ratio_gain",
    "score_overlap",
    "score_spans",
    "span_f1",
]
