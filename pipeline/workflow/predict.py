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
from pipeline.rerank import RerankStage, distinct, ranking
from pipeline.schema import EMOTIONS, Article, ChosenEntity, Prediction, RankedCandidate
from pipeline.sentiment import SentimentStage, make_target
from pipeline.workflow.run_config import load_run_config

CHUNK_SIZE = 32
"""Articles worked on together. Fixed: a batch's size could change the last bits of a probability."""

N_RUNNERS_UP = 10


class Predictor:
    """The models of one run, ready to answer."""

    def __init__(
        self, config: Config, extractor: Extractor, counts: KeyCounts, rerank: RerankStage, sentiment: SentimentStage
    ) -> None:
        self.config = config
        self.extractor = extractor
        self.counts = counts
        self.rerank = rerank
        self.sentiment = sentiment

    @classmethod
    def load(cls, path: Path) -> Predictor:
        """Load the models of a run folder; its checksums are the caller's business (``open_run``).

        Raises:
            ArtifactError: a file is missing, damaged, or made by another segmentation or feature list.
        """
        run = RunFolder(path)
        config = load_run_config(run.config)
        return cls(
            config,
            Extractor.load(run.stage("candidates")),
            load_counts(run.stage("candidates")),
            RerankStage.load(run.stage("rerank"), config.rerank, seed=config.seed),
            SentimentStage.load(run.stage("sentiment"), config),
        )

    def predict(self, articles: Sequence[Article]) -> list[Prediction]:
        """Answer each article: up to three entities with emotions, mentions and probabilities."""
        answers = [self._rank(article) for article in articles]
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

    @property
    def _max_context_chars(self) -> int:
        return self.config.sentiment.max_context_chars

    def _rank(self, article: Article) -> tuple[CandidateSet, np.ndarray, list[int], list[int]]:
        """Return the candidates, their probabilities, the chosen rows and the next best."""
        features = self.extractor.extract(article)
        candidates = features.candidates
        names, matrix = with_fitted(
            features.names, features.matrix, candidates.keys, self.counts, self.config.rerank.hit_rate_smoothing
        )
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
