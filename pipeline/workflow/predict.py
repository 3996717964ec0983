"""A finished run at work: articles in, predictions out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np

from pipeline.artifacts import RunFolder
from pipeline.config import Config, EncoderEngine, EngineConfig
from pipeline.data.simplified import as_written
from pipeline.emotions.sentiment import SentimentStage, make_target
from pipeline.emotions.sentiment.contexts import WeightedSpan, context_origin
from pipeline.emotions.sentiment.scores import Probs, likeliest
from pipeline.entities.candidates import CandidateSet, Source, locate
from pipeline.entities.rerank import NumberRule
from pipeline.entities.tagging import TaggerStage
from pipeline.errors import ArtifactError
from pipeline.joint import JointStage, NameVotes, fuse_emotions, fuse_names, read_rule
from pipeline.runtime.parallel import ChunkMap, map_chunks
from pipeline.schema import Article, ChosenEntity, Prediction, RunnerUp
from pipeline.text import Document, default_segmenter, match_key
from pipeline.text.simplify import converter
from pipeline.text.spans import ScoredSpan
from pipeline.workflow.entity_finder import EntityFinder, Ranking
from pipeline.workflow.modes import FUSED, StageSet, has_networks
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.script import as_read
from pipeline.workflow.unanswered import FailureLog, answer_each

CHUNK_SIZE = 32
"""Articles worked on together. Fixed: a batch's size could change the last bits of a probability."""

ALONE = 1000
"""So many articles are worth a second process, in a run without networks: each takes seconds to start and to load."""

N_RUNNERS_UP = 10


@dataclass(frozen=True)
class Heard:
    """What the taggers say of an article."""

    document: Document
    spans: Sequence[ScoredSpan] | None
    """For the reranker's candidates; None in a run without a tagger."""
    votes: NameVotes | None
    """Of the joint tagger, in a run that has one."""


@dataclass(frozen=True)
class Trace:
    """An article's way through the stages, in the script in which they read it."""

    article: Article
    """As it was read: simplified, where the run says so (``text.to_simplified``)."""
    heard: Heard
    offered: CandidateSet
    """Every candidate, before pruning."""
    ranked: Ranking
    prediction: Prediction
    failure: str = ""
    """Why it could not be answered, in a word; the stages then saw an article without text."""
    untouched: Article | None = None
    """What was asked, where that is another text than ``article``."""

    @property
    def answer(self) -> Prediction:
        """The prediction, its names and mentions slices of the untouched fields."""
        if self.untouched is None:
            return self.prediction
        return as_written(self.prediction, self.article, self.untouched)


@dataclass(frozen=True)
class Attention:
    """What one head looked at to judge one entity."""

    entity: str
    head: str
    spans: list[WeightedSpan]
    """Of the document's text."""


class Predictor:
    """The models of one run, ready to answer. Which of them a run has depends on its mode (``StageSet``).

    Args:
        config: options of the run.
        tagger: of entities, for the reranker.
        joint: of entities and emotions.
        finder: stage one over all candidates; None where the joint tagger's own scores order its names.
        sentiment: stage two; None where the joint tagger alone tells emotions.
        rule: number rule of the answer.
    """

    def __init__(
        self,
        config: Config,
        *,
        tagger: TaggerStage | None = None,
        joint: JointStage | None = None,
        finder: EntityFinder | None = None,
        sentiment: SentimentStage | None = None,
        rule: NumberRule,
    ) -> None:
        self.config = config
        self.tagger = tagger
        self.joint = joint
        self.finder = finder
        self.sentiment = sentiment
        self.rule = rule

    @classmethod
    def load(cls, path: Path, *, encoder_engine: EncoderEngine | None = None) -> Self:
        """Load the models of a run folder; its checksums are the caller's business (``open_run``).

        Args:
            path: of the run.
            encoder_engine: what runs its encoder, in place of the run's ``engine.encoder``.

        Raises:
            ArtifactError: see the models; or they do not fit together.
            ConfigError: the engine, or OpenCC where it is needed, is not installed.
        """
        run = RunFolder(path)
        config = load_run_config(run.config)
        if encoder_engine is not None:
            config = replace(config, engine=EngineConfig(encoder=encoder_engine))
        if config.text.to_simplified:
            converter()  # better now than with the first article
        with _fitting_together(path):
            parts = StageSet.of(config)
            joint = JointStage.load(run.stage("joint"), config) if parts.joint else None
            finder = EntityFinder.load(run, config) if parts.reranker else None
            if joint is None or config.joint.ranking == "reranker":
                rule = finder.rule if finder else read_rule(run.stage("rerank"))
            else:
                rule = joint.ranking_.rule_ if config.mode == "joint" else read_rule(run.stage(FUSED))
            return cls(
                config,
                tagger=TaggerStage.load(run.stage("tagger"), config) if parts.tagger else None,
                joint=joint,
                finder=finder,
                sentiment=SentimentStage.load(run.stage("sentiment"), config) if parts.sentiment else None,
                rule=rule,
            )

    @property
    def known_names(self) -> tuple[Collection[str], Collection[str]]:
        """The names of the dictionary, and those that were gold in training, as match keys; none without a reranker."""
        if self.finder is None:
            return (), ()
        return self.finder.extractor.dictionary, self.finder.extractor.gold_names.keys()

    def predict(self, articles: Sequence[Article], *, strict: bool = False) -> list[Prediction]:
        """Answer each article: up to three entities with emotions, mentions and probabilities.

        One that cannot be answered, whatever it holds, gets an empty answer and a warning; see ``trace``.
        """
        traces = self.trace(articles, strict=strict)
        failures = FailureLog()
        for trace in traces:
            failures.add(trace.article.news_id, trace.failure)
        return [trace.answer for trace in traces]

    def trace(self, articles: Sequence[Article], *, strict: bool = False) -> list[Trace]:
        """Answer each article, and keep what every stage made of it.

        Where some article cannot be answered, all are answered one by one: with networks the last digits of their
        probabilities may then differ.

        Args:
            articles: what to answer.
            strict: stop at an article that cannot be answered.

        Raises:
            PipelineError: ``strict``, and there is such an article; or none of very many can be answered.
        """
        traces = answer_each(self._trace, as_read(articles, self.config), strict=strict)
        if not self.config.text.to_simplified:
            return traces
        return [replace(trace, untouched=article) for trace, article in zip(traces, articles, strict=True)]

    def _trace(self, articles: Sequence[Article]) -> list[Trace]:
        heard = self._listen(articles)
        offered = [self._offered(article, said) for article, said in zip(articles, heard, strict=True)]
        answers = [self._rank(candidates, said) for candidates, said in zip(offered, heard, strict=True)]
        names = [[answer.candidates.surface(row) for row in answer.chosen] for answer in answers]
        emotions = self._emotions(heard, names)
        return [
            Trace(article, said, candidates, answer, _prediction(article.news_id, answer, probs))
            for article, said, candidates, answer, probs in zip(
                articles, heard, offered, answers, emotions, strict=True
            )
        ]

    def emotions(self, traces: Sequence[Trace], names: Sequence[Sequence[str]]) -> list[Probs]:
        """Return the emotion probabilities of any names of some articles: float64 (n_names, n_emotions) each."""
        return self._emotions([trace.heard for trace in traces], names)

    def rank_with(self, trace: Trace, keys: Iterable[str], source: Source) -> Ranking:
        """Rank an article's candidates again, with further names among them: those of ``keys`` that it holds.

        Where the joint tagger's own scores order its names, a name that it did not find has no score, and stays out.

        Args:
            trace: of the article.
            keys: normalised names.
            source: where the further names are said to come from.
        """
        if self.finder is None or self._has_own_order:
            return trace.ranked
        return self.finder.rank_with(trace.ranked, keys, source)

    def contributions(self, ranked: Ranking, rows: Sequence[int]) -> np.ndarray:
        """Return how much each feature lifted some of the candidates: float64 (n_rows, n_features), in log odds."""
        if self.finder is None or self._has_own_order:
            return np.zeros((len(rows), 0))
        return self.finder.contributions(ranked, rows)

    def attention(self, trace: Trace) -> list[Attention]:
        """Return what the heads of stage two looked at, for each entity of the answer; nothing of other models."""
        if self.sentiment is None:
            return []
        document = trace.ranked.candidates.document
        names = [entity.name for entity in trace.prediction.entities]
        limit = self.config.sentiment.max_context_chars
        looked = self.sentiment.attention([make_target(document, name, max_chars=limit) for name in names])
        return [
            Attention(name, head, _in_document(spans, context_origin(document, name, max_chars=limit)))
            for head, of_names in looked.items()
            for name, spans in zip(names, of_names, strict=True)
        ]

    @property
    def _has_own_order(self) -> bool:
        return self.joint is not None and self.config.joint.ranking == "own"

    def _listen(self, articles: Sequence[Article]) -> list[Heard]:
        """Run the taggers that the run has."""
        documents = [Document.of(article) for article in articles]
        spans: Sequence[Sequence[ScoredSpan] | None] = [None] * len(articles)
        votes: Sequence[NameVotes | None] = [None] * len(articles)
        if self.joint is not None:
            spans = self.joint.predict(documents)
            votes = [NameVotes.of(document.text, said) for document, said in zip(documents, spans, strict=True)]
        if self.tagger is not None:
            spans = self.tagger.predict(documents)
        return [Heard(*facts) for facts in zip(documents, spans, votes, strict=True)]

    def _offered(self, article: Article, heard: Heard) -> CandidateSet:
        if self.finder is not None:
            return self.finder.offered(heard.document, heard.spans)
        keys = heard.votes.keys if heard.votes is not None else []
        words = default_segmenter().cut(heard.document.text)
        return locate(heard.document, words, dict.fromkeys(keys, int(Source.TAGGER)))

    def _rank(self, offered: CandidateSet, heard: Heard) -> Ranking:
        """Return the candidates of an article in their final order."""
        probs_of: dict[str, float] = {}
        if self.finder is not None:
            ranked = self.finder.rank(offered)
            if not self._has_own_order:
                return ranked
            probs_of = dict(zip(ranked.candidates.keys, ranked.probs.tolist(), strict=True))
        if self.joint is not None and heard.votes is not None:
            own = dict(zip(heard.votes.keys, self.joint.ranking_.probs(heard.votes).tolist(), strict=True))
            probs_of = own if self.finder is None else fuse_names(probs_of, own)
        candidates = locate(heard.document, offered.words, dict.fromkeys(probs_of, int(Source.TAGGER)))
        return Ranking.by(self.rule, candidates, np.array([probs_of[key] for key in candidates.keys]))

    def _emotions(self, heard: Sequence[Heard], names: Sequence[Sequence[str]]) -> list[Probs]:
        """Return the emotion probabilities of names: float64 (n_names, n_emotions) for each article."""
        if not heard:
            return []
        found = []
        if self.sentiment is not None:
            limit = self.config.sentiment.max_context_chars
            targets = [
                make_target(said.document, name, max_chars=limit)
                for said, of_article in zip(heard, names, strict=True)
                for name in of_article
            ]
            found.append(self.sentiment.predict(targets))
        if self.joint is not None:
            votes = [
                said.votes.of_keys([match_key(name) for name in of_article])
                for said, of_article in zip(heard, names, strict=True)
                if said.votes is not None
            ]
            found.append(self.joint.voter_.probs(np.concatenate(votes)))
        probs = found[0] if len(found) == 1 else fuse_emotions(*found)
        return np.split(probs, np.cumsum([len(of_article) for of_article in names])[:-1])


def _prediction(news_id: str, answer: Ranking, emotions: Probs) -> Prediction:
    candidates, probs = answer.candidates, answer.probs
    runners_up = islice((row for row in answer.order if row not in answer.chosen), N_RUNNERS_UP)
    return Prediction(
        news_id,
        tuple(
            _entity(candidates, row, float(probs[row]), emotion)
            for row, emotion in zip(answer.chosen, emotions, strict=True)
        ),
        tuple(RunnerUp(candidates.surface(row), float(probs[row])) for row in runners_up),
    )


def _entity(candidates: CandidateSet, row: int, score: float, emotion_probs: np.ndarray) -> ChosenEntity:
    p_pos, p_norm, p_neg = (float(prob) for prob in emotion_probs)
    [emotion] = likeliest(emotion_probs[None])
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


@contextmanager
def _fitting_together(path: Path) -> Iterator[None]:
    """Tell files that were changed by someone who mended the checksums from a fault of the program."""
    try:
        yield
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise ArtifactError(f"{path}: its files do not fit together ({reason})", hint="train the run again") from error


def predict_stream(
    run: RunFolder,
    articles: Iterable[Article],
    *,
    workers: int,
    chunk_map: ChunkMap = map_chunks,
    strict: bool = False,
    encoder_engine: EncoderEngine | None = None,
) -> Iterator[Prediction]:
    """Yield the prediction of each article, in order; memory does not grow with the stream.

    Warns of each article that cannot be answered, and of their number in the end; see ``Predictor.trace``.
    """
    work = partial(_predict_chunk, strict=strict)
    alone = 0 if has_networks(load_run_config(run.config)) else ALONE
    load = partial(Predictor.load, run.path, encoder_engine=encoder_engine)
    with FailureLog() as failures:
        for prediction, failure in chunk_map(
            work, articles, load=load, workers=workers, chunk_size=CHUNK_SIZE, alone=alone
        ):
            failures.add(prediction.news_id, failure)
            yield prediction


def _predict_chunk(predictor: Predictor, chunk: list[Article], *, strict: bool) -> list[tuple[Prediction, str]]:
    return [(trace.answer, trace.failure) for trace in predictor.trace(chunk, strict=strict)]
