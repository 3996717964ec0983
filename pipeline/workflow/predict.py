"""A finished run at work: articles in, predictions out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from pipeline.artifacts import RunFolder
from pipeline.candidates import CandidateSet, Source, locate
from pipeline.config import Config
from pipeline.features import Extractor, KeyCounts
from pipeline.features.extract import load_counts, with_fitted
from pipeline.joint import JointStage, NameVotes, fuse_emotions, fuse_names, read_rule
from pipeline.parallel import map_chunks
from pipeline.rerank import NumberRule, RerankStage, choose, distinct, ranking
from pipeline.schema import EMOTIONS, Article, ChosenEntity, Prediction, RankedCandidate
from pipeline.sentiment import SentimentStage, make_target
from pipeline.sentiment.scores import Probs
from pipeline.taggers.schemes import ScoredSpan
from pipeline.tagging import TaggerStage
from pipeline.text import Document
from pipeline.text.segment import Words
from pipeline.workflow.modes import FUSED, Parts
from pipeline.workflow.run_config import load_run_config

CHUNK_SIZE = 32
"""Articles worked on together. Fixed: a batch's size could change the last bits of a probability."""

N_RUNNERS_UP = 10

Answer = tuple[CandidateSet, np.ndarray, list[int], list[int]]
"""Candidates, their probabilities, the chosen rows, and the next best."""


@dataclass(frozen=True)
class Heard:
    """What the taggers say of an article."""

    document: Document
    spans: Sequence[ScoredSpan] | None
    """For the reranker's candidates; None in a run without a tagger."""
    votes: NameVotes | None
    """Of the joint tagger, in a run that has one."""


@dataclass(frozen=True)
class Reranking:
    """Candidates of an article with the probabilities that the reranker gives them."""

    extractor: Extractor
    counts: KeyCounts
    stage: RerankStage

    @classmethod
    def load(cls, run: RunFolder, config: Config) -> Reranking:
        """Read the models of a run.

        Raises:
            ArtifactError: a file is missing, damaged, or made by another segmentation or feature list.
        """
        return cls(
            Extractor.load(run.stage("candidates")),
            load_counts(run.stage("candidates")),
            RerankStage.load(run.stage("rerank"), config.rerank, seed=config.seed),
        )

    def rank(self, article: Article, spans: Sequence[ScoredSpan] | None) -> tuple[CandidateSet, np.ndarray]:
        """Return the candidates after pruning, and their probabilities."""
        features = self.extractor.extract(article, spans=spans)
        candidates, smoothing = features.candidates, self.stage.config.hit_rate_smoothing
        names, matrix = with_fitted(features.names, features.matrix, candidates.keys, self.counts, smoothing)
        self.stage.ranker_.check_features(names)
        return candidates, self.stage.probs(matrix)


class Predictor:
    """The models of one run, ready to answer. Which of them a run has depends on its mode (``Parts``)."""

    def __init__(
        self,
        config: Config,
        *,
        tagger: TaggerStage | None = None,
        joint: JointStage | None = None,
        reranking: Reranking | None = None,
        sentiment: SentimentStage | None = None,
        rule: NumberRule,
    ) -> None:
        self.config = config
        self.tagger = tagger
        self.joint = joint
        self.reranking = reranking
        self.sentiment = sentiment
        self.rule = rule

    @classmethod
    def load(cls, path: Path) -> Predictor:
        """Load the models of a run folder; its checksums are the caller's business (``open_run``).

        Raises:
            ArtifactError: see the models.
        """
        run = RunFolder(path)
        config = load_run_config(run.config)
        parts = Parts.of(config)
        joint = JointStage.load(run.stage("joint"), config) if parts.joint else None
        reranking = Reranking.load(run, config) if parts.reranker else None
        if joint is None or config.joint.ranking == "reranker":
            rule = read_rule(run.stage("rerank"))
        else:
            rule = joint.ranking_.rule_ if config.mode == "joint" else read_rule(run.stage(FUSED))
        return cls(
            config,
            tagger=TaggerStage.load(run.stage("tagger"), config) if parts.tagger else None,
            joint=joint,
            reranking=reranking,
            sentiment=SentimentStage.load(run.stage("sentiment"), config) if parts.sentiment else None,
            rule=rule,
        )

    def predict(self, articles: Sequence[Article]) -> list[Prediction]:
        """Answer each article: up to three entities with emotions, mentions and probabilities."""
        heard = self._listen(articles)
        answers = [self._choose(*self._rank(article, said)) for article, said in zip(articles, heard, strict=True)]
        emotions = iter(self._emotions(answers, heard))
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
        (heard,) = self._listen([article])
        if self.reranking is None:
            return self._rank(article, heard)[0]
        return self.reranking.extractor.candidates(article, spans=heard.spans)

    def scored(self, article: Article) -> tuple[CandidateSet, np.ndarray]:
        """Return the candidates of an article after pruning, and their probabilities."""
        return self._rank(article, self._listen([article])[0])

    def _listen(self, articles: Sequence[Article]) -> list[Heard]:
        """Run the taggers that the run has."""
        documents = [Document.of(article) for article in articles]
        spans: Sequence[Sequence[ScoredSpan] | None] = [None] * len(articles)
        votes: Sequence[NameVotes | None] = [None] * len(articles)
        if self.joint is not None:
            found = self.joint.predict(documents)
            spans = found
            votes = [NameVotes.of(document.text, said) for document, said in zip(documents, found, strict=True)]
        if self.sentiment is not None:
            spans = [None] * len(articles) if self.tagger is None else self.tagger.predict(documents)
        return [Heard(*facts) for facts in zip(documents, spans, votes, strict=True)]

    def _rank(self, article: Article, heard: Heard) -> tuple[CandidateSet, np.ndarray]:
        """Return the candidates of an article and their probabilities."""
        own_order = self.joint is not None and self.config.joint.ranking == "own"
        probs_of: dict[str, float] = {}
        if self.reranking is not None:
            candidates, probs = self.reranking.rank(article, heard.spans)
            if not own_order:
                return candidates, probs
            probs_of = dict(zip(candidates.keys, probs.tolist(), strict=True))
        if self.joint is not None and heard.votes is not None:
            own = dict(zip(heard.votes.keys, self.joint.ranking_.probs(heard.votes).tolist(), strict=True))
            probs_of = own if self.reranking is None else fuse_names(probs_of, own)
        no_words = Words([], [len(heard.document.text)])
        candidates = locate(heard.document, no_words, dict.fromkeys(probs_of, int(Source.TAGGER)))
        return candidates, np.array([probs_of[key] for key in candidates.keys])

    def _choose(self, candidates: CandidateSet, probs: np.ndarray) -> Answer:
        chosen = choose(probs, candidates.keys, candidates.firsts, self.rule)
        order = distinct(ranking(probs, candidates.keys, candidates.firsts), candidates.keys)
        runners_up = islice((row for row in order if row not in chosen), N_RUNNERS_UP)
        return candidates, probs, chosen, list(runners_up)

    def _emotions(self, answers: Sequence[Answer], heard: Sequence[Heard]) -> Probs:
        """Return the emotion probabilities of all chosen entities, in order."""
        found = []
        if self.sentiment is not None:
            targets = [
                make_target(candidates.document, candidates.surface(row), max_chars=self._max_context_chars)
                for candidates, _, chosen, _ in answers
                for row in chosen
            ]
            found.append(self.sentiment.predict(targets))
        if self.joint is not None:
            votes = [
                said.votes.of_keys([candidates.keys[row] for row in chosen])
                for (candidates, _, chosen, _), said in zip(answers, heard, strict=True)
                if said.votes is not None
            ]
            found.append(self.joint.voter_.probs(np.concatenate(votes)) if votes else np.zeros((0, len(EMOTIONS))))
        return found[0] if len(found) == 1 else fuse_emotions(*found)

    @property
    def _max_context_chars(self) -> int:
        return self.config.sentiment.max_context_chars


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
