"""A finished run at work: articles in, predictions out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from pipeline.artifacts import RunFolder
from pipeline.candidates import CandidateSet, Source, locate
from pipeline.config import Config
from pipeline.features import Extractor, KeyCounts
from pipeline.features.extract import ArticleFeatures, load_counts, static_features, with_fitted
from pipeline.parallel import map_chunks
from pipeline.rerank import NumberRule, RerankStage, distinct, ranking
from pipeline.schema import EMOTIONS, Article, ChosenEntity, Prediction, RankedCandidate
from pipeline.sentiment import SentimentStage, make_target
from pipeline.sentiment.contexts import WeightedSpan, context_origin
from pipeline.sentiment.scores import Probs
from pipeline.taggers.schemes import ScoredSpan
from pipeline.tagging import TaggerStage
from pipeline.text import Document
from pipeline.workflow.run_config import load_run_config

CHUNK_SIZE = 32
"""Articles worked on together. Fixed: a batch's size could change the last bits of a probability."""

N_RUNNERS_UP = 10

NO_TAGGER = "none"
"""Value of ``tagger.name`` in a run whose candidates come from words and dictionaries alone."""


@dataclass(frozen=True)
class Ranked:
    """The candidates of one article as the reranker saw and ordered them."""

    candidates: CandidateSet
    names: list[str]
    """Columns of ``matrix``."""
    matrix: np.ndarray
    """float32 (n_candidates, n_features)."""
    probs: np.ndarray
    """float64 (n_candidates,): calibrated probability of being a core entity."""
    order: list[int]
    """Rows, the best first; of several spellings of one name only the best."""
    chosen: list[int]
    """Rows of the answer, the best first."""


@dataclass(frozen=True)
class Trace:
    """An article's way through the stages."""

    article: Article
    offered: CandidateSet
    """Every candidate, before pruning."""
    ranked: Ranked
    prediction: Prediction


@dataclass(frozen=True)
class Attention:
    """What one head looked at to judge one entity."""

    entity: str
    head: str
    spans: list[WeightedSpan]
    """Of the document's text."""


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
    ) -> None:
        self.config = config
        self.tagger = tagger
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
            tagger=None if config.tagger.name == NO_TAGGER else TaggerStage.load(run.stage("tagger"), config),
            extractor=Extractor.load(run.stage("candidates")),
            counts=load_counts(run.stage("candidates")),
            rerank=RerankStage.load(run.stage("rerank"), config.rerank, seed=config.seed),
            sentiment=SentimentStage.load(run.stage("sentiment"), config),
        )

    @property
    def rule(self) -> NumberRule:
        """How many of the ranked candidates become the answer."""
        return self.rerank.rule_

    @property
    def known_names(self) -> tuple[Collection[str], Collection[str]]:
        """The names of the dictionary, and those that were gold in training, as match keys."""
        return self.extractor.dictionary, self.extractor.gold_names.keys()

    def predict(self, articles: Sequence[Article]) -> list[Prediction]:
        """Answer each article: up to three entities with emotions, mentions and probabilities."""
        return [trace.prediction for trace in self.trace(articles)]

    def trace(self, articles: Sequence[Article]) -> list[Trace]:
        """Answer each article, and keep what every stage made of it."""
        offered = [
            self.extractor.candidates(article, spans=found)
            for article, found in zip(articles, self._spans(articles), strict=True)
        ]
        answers = [self._rank(self.extractor.describe(candidates)) for candidates in offered]
        named = [
            (answer.candidates.document, [answer.candidates.surface(row) for row in answer.chosen])
            for answer in answers
        ]
        emotions = self.emotions(named)
        return [
            Trace(article, candidates, answer, _prediction(article.news_id, answer, probs))
            for article, candidates, answer, probs in zip(articles, offered, answers, emotions, strict=True)
        ]

    def emotions(self, named: Sequence[tuple[Document, Sequence[str]]]) -> list[Probs]:
        """Return the emotion probabilities of any names of some articles: float64 (n_names, n_emotions) each."""
        targets = [
            make_target(document, name, max_chars=self._max_context_chars)
            for document, names in named
            for name in names
        ]
        probs = self.sentiment.predict(targets)
        return np.split(probs, np.cumsum([len(names) for _, names in named])[:-1]) if named else []

    def rank_with(self, trace: Trace, keys: Iterable[str], source: Source) -> Ranked:
        """Rank an article's candidates again, with further names among them: those of ``keys`` that it holds.

        Args:
            trace: of the article.
            keys: normalised names.
            source: where the further names are said to come from.
        """
        kept = trace.ranked.candidates
        bits = dict(zip(kept.keys, kept.sources.tolist(), strict=True))
        for key in keys:
            bits.setdefault(key, int(source))
        if len(bits) == len(kept):
            return trace.ranked
        widened = replace(locate(kept.document, kept.words, bits), tagged=kept.tagged)
        return self._rank(static_features(widened, self.extractor.segmenter))

    def contributions(self, ranked: Ranked, rows: Sequence[int]) -> np.ndarray:
        """Return how much each feature lifted some of the candidates: float64 (n_rows, n_features), in log odds."""
        return self.rerank.ranker_.contributions(ranked.matrix[list(rows)])

    def attention(self, trace: Trace) -> list[Attention]:
        """Return what the heads of stage two looked at, for each entity of the answer; nothing of other models."""
        document = trace.ranked.candidates.document
        names = [entity.name for entity in trace.prediction.entities]
        limit = self._max_context_chars
        looked = self.sentiment.attention([make_target(document, name, max_chars=limit) for name in names])
        return [
            Attention(name, head, _in_document(spans, context_origin(document, name, max_chars=limit)))
            for head, of_names in looked.items()
            for name, spans in zip(names, of_names, strict=True)
        ]

    def offered(self, article: Article) -> CandidateSet:
        """Return every candidate of an article, before pruning."""
        return self.extractor.candidates(article, spans=self._spans([article])[0])

    def scored(self, article: Article) -> tuple[CandidateSet, np.ndarray]:
        """Return the candidates of an article after pruning, and their probabilities."""
        ranked = self._rank(self.extractor.describe(self.offered(article)))
        return ranked.candidates, ranked.probs

    def _spans(self, articles: Sequence[Article]) -> Sequence[Sequence[ScoredSpan] | None]:
        """Return the tagger's spans of each article; None in a run without a tagger."""
        if self.tagger is None:
            return [None] * len(articles)
        return self.tagger.predict([Document.of(article) for article in articles])

    @property
    def _max_context_chars(self) -> int:
        return self.config.sentiment.max_context_chars

    def _rank(self, features: ArticleFeatures) -> Ranked:
        """Score described candidates, order them and choose."""
        candidates = features.candidates
        names, matrix = with_fitted(
            features.names, features.matrix, candidates.keys, self.counts, self.config.rerank.hit_rate_smoothing
        )
        self.rerank.ranker_.check_features(names)
        probs = self.rerank.probs(matrix)
        chosen = self.rerank.choose(probs, candidates.keys, candidates.firsts)
        order = list(distinct(ranking(probs, candidates.keys, candidates.firsts), candidates.keys))
        return Ranked(candidates, names, matrix, probs, order, chosen)


def _prediction(news_id: str, answer: Ranked, emotions: Probs) -> Prediction:
    candidates, probs = answer.candidates, answer.probs
    runners_up = islice((row for row in answer.order if row not in answer.chosen), N_RUNNERS_UP)
    return Prediction(
        news_id,
        tuple(
            _entity(candidates, row, float(probs[row]), emotion)
            for row, emotion in zip(answer.chosen, emotions, strict=True)
        ),
        tuple(RankedCandidate(candidates.surface(row), float(probs[row])) for row in runners_up),
    )


def _entity(candidates: CandidateSet, row: int, score: float, emotion_probs: np.ndarray) -> ChosenEntity:
    p_pos, p_norm, p_neg = (float(prob) for prob in emotion_probs)
    emotion = EMOTIONS[int(np.argmax(emotion_probs))]
    return ChosenEntity(candidates.surface(row), emotion, score, (p_pos, p_norm, p_neg), candidates.mentions(row))


def _in_document(spans: Iterable[WeightedSpan], origin: Sequence[tuple[int, int, int]]) -> list[WeightedSpan]:
    """Move spans of a target's text to the document; those between two pieces are left out."""
    begins = [begin for begin, _, _ in origin]
    moved = []
    for start, stop, weight in spans:
        begin, source, length = origin[bisect_right(begins, start) - 1]
        if stop <= begin + length:
            moved.append(WeightedSpan(start - begin + source, stop - begin + source, weight))
    return moved


def predict_stream(run: RunFolder, articles: Iterable[Article], *, workers: int) -> Iterator[Prediction]:
    """Yield the prediction of each article, in order; memory does not grow with the stream."""
    return map_chunks(
        _predict_chunk, articles, load=partial(Predictor.load, run.path), workers=workers, chunk_size=CHUNK_SIZE
    )


def _predict_chunk(predictor: Predictor, chunk: list[Article]) -> list[Prediction]:
    return predictor.predict(chunk)
