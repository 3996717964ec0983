"""Stage one's ranking at work: an article's candidates, described, scored and ordered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from pipeline.artifacts import RunFolder
from pipeline.config import Config
from pipeline.entities.candidates import CandidateSet, Source, locate
from pipeline.entities.cross_ranker import CrossReranker
from pipeline.entities.features import Extractor, KeyCounts
from pipeline.entities.features.extract import ArticleFeatures, load_counts, static_features, with_fitted
from pipeline.entities.relevance import RelevanceStage, article_pairs, with_relevance
from pipeline.entities.rerank import NumberRule, RerankStage, choose, distinct, ranking
from pipeline.submission.clean import clean_name
from pipeline.text import Document
from pipeline.text.spans import ScoredSpan
from pipeline.workflow.modes import StageSet


@dataclass(frozen=True)
class Ranking:
    """The candidates of one article as they were scored and ordered."""

    candidates: CandidateSet
    names: list[str]
    """Columns of ``matrix``."""
    matrix: np.ndarray
    """float32 (n_candidates, n_features); no column where no reranker took part."""
    probs: np.ndarray
    """float64 (n_candidates,): calibrated probability of being a core entity."""
    order: list[int]
    """Rows, the best first; of several spellings of one name, and of candidates written out alike, only the best."""
    chosen: list[int]
    """Rows of the answer, the best first."""

    @classmethod
    def by(cls, rule: NumberRule, candidates: CandidateSet, probs: np.ndarray) -> Self:
        """Order candidates by probabilities that come without features, and choose by a rule."""
        order, chosen = order_and_choose(candidates, probs, rule)
        return cls(candidates, [], np.zeros((len(candidates), 0), np.float32), probs, order, chosen)


def order_and_choose(candidates: CandidateSet, probs: np.ndarray, rule: NumberRule) -> tuple[list[int], list[int]]:
    """Return the rows from the best down, one for each name, and those that a rule chooses.

    Two candidates may be written out alike: where one character stands for several ("㋀" for "1月"), or a comma goes.
    What nothing visible is written of is left out.
    """
    keys, firsts = candidates.keys, candidates.firsts
    order: list[int] = []
    written = {""}
    for row in distinct(ranking(probs, keys, firsts), keys):
        name = clean_name(candidates.surface(row))
        if name not in written:
            written.add(name)
            order.append(row)
    chosen = choose(probs[order], [keys[row] for row in order], firsts[order], rule)
    return order, [order[place] for place in chosen]


class EntityFinder:
    """Candidates of an article with the probabilities that the reranker gives them.

    Args:
        config: options of the run.
        extractor: offers, prunes and describes candidates.
        counts: of keys over the training articles.
        stage: the reranker.
        relevance: gives columns of the reranker, in a run that has it.
        cross: a second reranking by an encoder, in a run that has one.
    """

    def __init__(
        self,
        config: Config,
        *,
        extractor: Extractor,
        counts: KeyCounts,
        stage: RerankStage,
        relevance: RelevanceStage | None = None,
        cross: CrossReranker | None = None,
    ) -> None:
        self.config = config
        self.extractor = extractor
        self.counts = counts
        self.stage = stage
        self.relevance = relevance
        self.cross = cross

    @classmethod
    def load(cls, run: RunFolder, config: Config) -> EntityFinder:
        """Read the models of a run.

        Raises:
            ArtifactError: a file is missing, damaged, or made by another segmentation or feature list.
        """
        folder, options = run.stage("relevance"), config.relevance
        return cls(
            config,
            extractor=Extractor.load(run.stage("candidates")),
            counts=load_counts(run.stage("candidates")),
            stage=RerankStage.load(run.stage("rerank"), config.rerank, seed=config.seed),
            relevance=RelevanceStage.load(folder, options, seed=config.seed) if options.is_on else None,
            cross=CrossReranker.load(run.stage("cross"), config) if StageSet.of(config).cross else None,
        )

    @property
    def rule(self) -> NumberRule:
        """The number rule that belongs to the final probabilities."""
        return (self.cross or self.stage).rule_

    def offered(self, document: Document, spans: Sequence[ScoredSpan] | None) -> CandidateSet:
        """Return every candidate of an article, before pruning; ``spans`` are a tagger's, in a run with one."""
        return self.extractor.candidates(document.article, spans=spans, document=document)

    def rank(self, offered: CandidateSet) -> Ranking:
        """Prune, describe, score and order candidates, and choose."""
        return self._rank(self.extractor.describe(offered))

    def rank_with(self, ranked: Ranking, keys: Iterable[str], source: Source) -> Ranking:
        """Rank an article's candidates again, with further names among them: those of ``keys`` that it holds.

        Args:
            ranked: the article's ranking.
            keys: normalised names.
            source: where the further names are said to come from.
        """
        kept = ranked.candidates
        bits = dict(zip(kept.keys, kept.sources.tolist(), strict=True))
        for key in keys:
            bits.setdefault(key, int(source))
        if len(bits) == len(kept):
            return ranked
        widened = replace(locate(kept.document, kept.words, bits), tagged=kept.tagged)
        return self._rank(static_features(widened, self.extractor.segmenter))

    def contributions(self, ranked: Ranking, rows: Sequence[int]) -> np.ndarray:
        """Return how much each feature lifted some candidates: float64 (n_rows, n_features), in log odds.

        Of the first reranking, where an encoder ranks again.
        """
        return self.stage.model_.contributions(ranked.matrix[list(rows)])

    def _rank(self, features: ArticleFeatures) -> Ranking:
        candidates, smoothing = features.candidates, self.config.rerank.hit_rate_smoothing
        names, matrix = with_fitted(features.names, features.matrix, candidates.keys, self.counts, smoothing)
        if self.relevance is not None:
            [scores] = self.relevance.predict([article_pairs(candidates, self.config.relevance)])
            names, matrix = with_relevance(names, matrix, scores)
        self.stage.model_.check_features(names)
        probs = self.stage.probs(matrix)
        if self.cross is not None:
            keys, firsts = candidates.keys, candidates.firsts
            probs = self.cross.probs(candidates.document, keys, firsts, names, matrix, probs)
        order, chosen = order_and_choose(candidates, probs, self.rule)
        return Ranking(candidates, names, matrix, probs, order, chosen)
