"""A matcher on the pairs of articles: trained for a fixed number of epochs on negatives that are drawn anew in each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.encoding import EncodedArticle, TokenReader, TrainingPairs, article_batches
from pipeline.entities.relevance.estimator import MatcherModel
from pipeline.entities.relevance.pairs import ArticlePairs
from pipeline.runtime.processes import together

PREDICT_BATCH = 256
"""Most pairs scored at a time. Fixed: a batch's size could change the last bits of a score."""


class RelevanceModel:
    """One registered matcher, trained for a fixed number of epochs.

    Args:
        matcher: the model; its seed is also that of the negatives.
    """

    def __init__(self, matcher: MatcherModel) -> None:
        self.matcher = matcher

    @together
    def fit(self, articles: Sequence[ArticlePairs]) -> Self:
        """Train on articles that have a core entity among their candidates; the vocabulary is theirs."""
        config = self.matcher.config

        def batches(reader: TokenReader) -> TrainingPairs:
            return TrainingPairs(
                articles,
                reader,
                n_negatives=config.n_negatives,
                batch_size=config.training.batch_size,
                seed=self.matcher.seed,
            )

        self.matcher.fit((token for article in articles for token in article.tokens), batches)
        return self

    def predict(self, articles: Sequence[ArticlePairs]) -> list[np.ndarray]:
        """Return the similarity of each article's pairs, float64 (n_candidates,), 0 to 1."""
        results = []
        for article in articles:
            encoded = EncodedArticle(article, self.matcher.reader_)
            batches = article_batches(encoded, batch_size=PREDICT_BATCH)
            results.append(self.matcher.similarities(batches, len(article)))
        return results

    def save(self, folder: Path) -> None:
        """Write what ``MatcherModel.save`` writes."""
        self.matcher.save(folder)

    @classmethod
    def load(cls, folder: Path, config: RelevanceConfig) -> Self:
        """Read what ``save`` wrote; sizes are those of ``config``.

        Raises:
            ArtifactError: a file is missing or damaged, or another matcher, tokens or sizes were trained.
        """
        return cls(MatcherModel.load(folder, config))
