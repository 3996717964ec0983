"""A finished run at work: articles in, predictions out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from pipeline.artifacts import RunFolder
from pipeline.config import Config, EncoderEngine, EngineConfig
from pipeline.emotions.sentiment import SentimentStage, make_target
from pipeline.emotions.sentiment.contexts import context_origin
from pipeline.emotions.sentiment.scores import Probs
from pipeline.entities.candidates import CandidateSet, Source, locate
from pipeline.entities.rerank import NumberRule
from pipeline.entities.tagging import TaggerStage
from pipeline.errors import ArtifactError
from pipeline.joint import JointStage, NameVotes, fuse_emotions, fuse_names, read_rule
from pipeline.schema import Article, Prediction
from pipeline.text import Document, default_segmenter, match_key
from pipeline.text.simplify import converter
from pipeline.text.spans import ScoredSpan
from pipeline.workflow.entity_finder import EntityFinder, Ranking
from pipeline.workflow.modes import FUSED, StageSet
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.script import as_read
from pipeline.workflow.traces import Attention, Heard, Trace, in_document, prediction_of
from pipeline.workflow.unanswered import FailureLog, answer_each


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
            Trace(article, said, candidates, answer, prediction_of(article.news_id, answer, probs))
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
            Attention(name, head, in_document(spans, context_origin(document, name, max_chars=limit)))
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


@contextmanager
def _fitting_together(path: Path) -> Iterator[None]:
    """Tell files that were changed by someone who mended the checksums from a fault of the program."""
    try:
        yield
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise ArtifactError(f"{path}: its files do not fit together ({reason})", hint="train the run again") from error
