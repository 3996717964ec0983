"""A finished run at work: articles in, predictions out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from pipeline.artifacts import RunFolder
from pipeline.candidates import CandidateSet
from pipeline.config import Config
from pipeline.features import Extractor, KeyCounts
from pipeline.features.extract import load_counts, with_fitted
from pipeline.parallel import map_chunks
from pipeline.relevance import RelevanceStage, article_pairs, with_relevance
from pipeline.rerank import RerankStage, distinct, ranking
from pipeline.schema import EMOTIONS, Article, ChosenEntity, Prediction, RankedCandidate
from pipeline.sentiment import SentimentStage, make_target
from pipeline.taggers.schemes import ScoredSpan
from pipeline.tagging import TaggerStage
from pipeline.text import Document
from pipeline.workflow.run_config import load_run_config

CHUNK_SIZE = 32
"""Articles worked on together. Fixed: a batch's size could change the last bits of a probability."""

N_RUNNERS_UP = 10

NO_TAGGER = "none"
"""Value of ``tagger.name`` in a run whose candidates come from words and dictionaries alone."""


class Predictor:
    """The models of one run, ready to answer."""

    def __init__(
        self,
        config: Config,
        *,
        tagger: TaggerStage | None,
        extractor: Extractor,
        counts: KeyCounts,
        rerank: RerankStage,
        sentiment: SentimentStage,
        relevance: RelevanceStage | None = None,
    ) -> None:
        self.config = config
        self.tagger = tagger
        self.extractor = extractor
        self.counts = counts
        self.rerank = rerank
        self.sentiment = sentiment
        self.relevance = relevance

    @classmethod
    def load(cls, path: Path) -> Predictor:
        """Load the models of a run folder; its checksums are the caller's business (``open_run``).

        Raises:
            ArtifactError: a file is missing, damaged, or made by another segmentation or feature list.
        """
        run = RunFolder(path)
        config = load_run_config(run.config)
        folder, options = run.stage("relevance"), config.relevance
        return cls(
            config,
            tagger=None if config.tagger.name == NO_TAGGER else TaggerStage.load(run.stage("tagger"), config),
            extractor=Extractor.load(run.stage("candidates")),
            counts=load_counts(run.stage("candidates")),
            rerank=RerankStage.load(run.stage("rerank"), config.rerank, seed=config.seed),
            sentiment=SentimentStage.load(run.stage("sentiment"), config),
            relevance=RelevanceStage.load(folder, options, seed=config.seed) if options.is_on else None,
        )

    def predict(self, articles: Sequence[Article]) -> list[Prediction]:
        """Answer each article: up to three entities with emotions, mentions and probabilities."""
        spans = self._spans(articles)
        answers = [self._rank(article, found) for article, found in zip(articles, spans, strict=True)]
        targets = [
            make_target(candidates.document, candidates.surface(row), max_chars=self._max_context_chars)
            for candidates, _, chosen, _ in answers
            for row in chosen
        ]
        emotions = iter(self.sentiment.predict(targets))
        return [
            Prediction(
                article.news_id,
                tuple(_entity(candidates, row, float(probs[row]), next(emotions)) for row in chosen),
                tuple(RankedCandidate(candidates.surface(row), float(probs[row])) for row in runners_up),
            )
            for article, (candidates, probs, chosen, runners_up) in zip(articles, answers, strict=True)
        ]

    def offered(self, article: Article) -> CandidateSet:
        """Return every candidate of an article, before pruning."""
        return self.extractor.candidates(article, spans=self._spans([article])[0])

    def scored(self, article: Article) -> tuple[CandidateSet, np.ndarray]:
        """Return the candidates of an article after pruning, and their probabilities."""
        candidates, probs, _, _ = self._rank(article, self._spans([article])[0])
        return candidates, probs

    def _spans(self, articles: Sequence[Article]) -> Sequence[Sequence[ScoredSpan] | None]:
        """Return the tagger's spans of each article; None in a run without a tagger."""
        if self.tagger is None:
            return [None] * len(articles)
        return self.tagger.predict([Document.of(article) for article in articles])

    @property
    def _max_context_chars(self) -> int:
        return self.config.sentiment.max_context_chars

    def _rank(
        self, article: Article, spans: Sequence[ScoredSpan] | None
    ) -> tuple[CandidateSet, np.ndarray, list[int], list[int]]:
        """Return the candidates, their probabilities, the chosen rows and the next best."""
        features = self.extractor.extract(article, spans=spans)
        candidates = features.candidates
        names, matrix = with_fitted(
            features.names, features.matrix, candidates.keys, self.counts, self.config.rerank.hit_rate_smoothing
        )
        if self.relevance is not None:
            [scores] = self.relevance.predict([article_pairs(candidates, self.config.relevance)])
            names, matrix = with_relevance(names, matrix, scores)
        self.rerank.ranker_.check_features(names)
        probs = self.rerank.probs(matrix)
        chosen = self.rerank.choose(probs, candidates.keys, candidates.firsts)
        order = distinct(ranking(probs, candidates.keys, candidates.firsts), candidates.keys)
        runners_up = islice((row for row in order if row not in chosen), N_RUNNERS_UP)
        return candidates, probs, chosen, list(runners_up)


def _entity(candidates: CandidateSet, row: int, score: float, emotion_probs: np.ndarray) -> ChosenEntity:
    p_pos, p_norm, p_neg = (float(prob) for prob in emotion_probs)
    emotion = EMOTIONS[int(np.argmax(emotion_probs))]
    return ChosenEntity(candidates.surface(row), emotion, score, (p_pos, p_norm, p_neg), candidates.mentions(row))


def predict_stream(run: RunFolder, articles: Iterable[Article], *, workers: int) -> Iterator[Prediction]:
    """Yield the prediction of each article, in order; memory does not grow with the stream."""
    return map_chunks(
        _predict_chunk, articles, load=partial(Predictor.load, run.path), workers=workers, chunk_size=CHUNK_SIZE
    )


def _predict_chunk(predictor: Predictor, chunk: list[Article]) -> list[Prediction]:
    return predictor.predict(chunk)
