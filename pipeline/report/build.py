"""The report of a run on labelled articles: one pass over them, then every figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from pipeline.artifacts import RunFolder, read_table
from pipeline.config import Config
from pipeline.data.repeats import distinct
from pipeline.emotions.sentiment.scores import Probs, likeliest
from pipeline.entities.rerank import NumberRule
from pipeline.metric import evaluate
from pipeline.report.attribution import Attribution, reasons
from pipeline.report.curves import Top, recall_at_k, threshold_curve
from pipeline.report.emotion import emotion_figures
from pipeline.report.figures import Figure, figure
from pipeline.report.ladder import article_scores, human_row, ladder
from pipeline.report.outcome import Outcome, answered, gold_entities, outcome_of
from pipeline.report.slices import Facts, KnownNames, facts_of, slice_rows
from pipeline.report.spool import Spool
from pipeline.report.topics import terms_of, topics
from pipeline.report.views import View, article_view
from pipeline.runtime.parallel import map_chunks
from pipeline.schema import EMOTIONS, Article, Emotion, Entity
from pipeline.submission.clean import clean_name
from pipeline.text import default_segmenter
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import CHUNK_SIZE
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.traces import Trace
from pipeline.workflow.unanswered import FailureLog

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ArticleRecord:
    """What the figures need of one article; a few hundred bytes, however long the text."""

    news_id: str
    outcome: Outcome
    pred: tuple[Entity, ...]
    lost: dict[str, str | None]
    """Reason of each missed gold entity, None for a hit."""
    scores: NDArray[np.float64]
    """Every row of the ladder: float64 (n_rows, 2)."""
    probs: Probs
    """Emotion probabilities of each gold entity."""
    top: Top
    rule: NumberRule
    facts: Facts
    terms: dict[str, int]
    failure: str = ""
    """Why the article could not be answered; its answer is empty then."""


class Report:
    """The figures of a run on some articles, and the articles themselves.

    The views lie in a file, so that memory does not grow with the texts; they can be read any number of times.
    """

    def __init__(self, figures: dict[str, Any], spool: Spool, topics: Sequence[str], facts: Sequence[Facts]) -> None:
        self.figures = figures
        self._spool, self._topics, self._facts = spool, topics, facts

    def __len__(self) -> int:
        """Number of articles."""
        return len(self._topics)

    @property
    def views(self) -> Iterator[View]:
        """Yield the articles in the order of the gold file."""
        for view, topic, facts in zip(self._spool, self._topics, self._facts, strict=True):
            yield {**view, "slices": facts.values(topic)}


class Analyst:
    """A run's models, and what an article is compared with; one in each worker."""

    def __init__(self, predictor: Predictor, shares: NDArray[np.float64]) -> None:
        self.predictor = predictor
        self.shares = shares
        self.known = KnownNames(*map(frozenset, predictor.known_names))

    @classmethod
    def load(cls, path: Path) -> Analyst:
        """Load the models of a run folder."""
        return cls(Predictor.load(path), training_shares(RunFolder(path)))

    def analyse(self, articles: Sequence[Article]) -> list[tuple[ArticleRecord, View]]:
        """Follow labelled articles through the stages."""
        traces = self.predictor.trace(articles)
        probs = self._gold_probs(traces)
        return [self._article(trace, gold) for trace, gold in zip(traces, probs, strict=True)]

    def explain(self, article: Article) -> View:
        """Describe one labelled article in full."""
        traces = self.predictor.trace([article], strict=True)
        return self._article(traces[0], self._gold_probs(traces)[0], explain_next=True)[1]

    def _gold_probs(self, traces: Sequence[Trace]) -> list[Probs]:
        """Return the emotion probabilities of each article's gold entities: those of the answer where it holds them."""
        given = [{name: trace.prediction.entities[index].probs for index, name in answered(trace)} for trace in traces]
        names = [[entity.name for entity in gold_entities(trace.article)] for trace in traces]
        missing = [[name for name in of_gold if name not in known] for of_gold, known in zip(names, given, strict=True)]
        found = self.predictor.emotions(traces, missing)
        for known, left_out, probs in zip(given, missing, found, strict=True):
            known.update({name: tuple(row) for name, row in zip(left_out, probs.tolist(), strict=True)})
        return [
            np.array([known[name] for name in of_gold]).reshape(-1, len(EMOTIONS))
            for of_gold, known in zip(names, given, strict=True)
        ]

    def _article(self, trace: Trace, probs: Probs, *, explain_next: bool = False) -> tuple[ArticleRecord, View]:
        predictor, article = self.predictor, trace.article
        names = [entity.name for entity in gold_entities(article)]
        emotions = dict(zip(names, likeliest(probs), strict=True))
        outcome = outcome_of(predictor, trace, emotions)
        rule, ranked = predictor.rule, trace.ranked
        lost = reasons(outcome, max_entities=rule.max_entities)
        view = article_view(predictor, trace, outcome=outcome, lost=lost, explain_next=explain_next)
        scores = article_scores(outcome, self.shares, seed=predictor.config.seed, news_id=article.news_id)
        view |= {"entity_f1": round(float(scores[0, 0]), 6), "emotion_f1": round(float(scores[0, 1]), 6)}
        best = ranked.order[: rule.max_entities]
        record = ArticleRecord(
            news_id=article.news_id,
            outcome=outcome,
            pred=tuple(Entity(row["entity"], Emotion(row["emotion"])) for row in view["pred"]),
            lost=lost,
            scores=scores,
            probs=probs,
            top=Top(
                tuple(float(ranked.probs[row]) for row in best),
                tuple(clean_name(ranked.candidates.surface(row)) in names for row in best),
            ),
            rule=rule,
            facts=facts_of(article, outcome, self.known),
            terms=terms_of(trace.offered.words.forms, default_segmenter()),
            failure=trace.failure,
        )
        return record, view


def training_shares(run: RunFolder) -> NDArray[np.float64]:
    """Return the shares of the emotions among the entities a run was trained on: float64 (n_emotions,).

    They are counted in its out-of-fold table of emotions; of a run without one they are taken as equal.
    """
    if not run.oof("sentiment").is_file():
        return np.full(len(EMOTIONS), 1 / len(EMOTIONS))
    counts = Counter(read_table(run.oof("sentiment"))["gold"])
    total = max(sum(counts[emotion.value] for emotion in EMOTIONS), 1)
    return np.array([counts[emotion.value] for emotion in EMOTIONS]) / total


def analyse_stream(
    run: RunFolder, articles: Sequence[Article], *, workers: int
) -> Iterator[tuple[ArticleRecord, View]]:
    """Follow labelled articles through the stages of a run, in order."""
    return map_chunks(
        _analyse_chunk, articles, load=partial(Analyst.load, run.path), workers=workers, chunk_size=CHUNK_SIZE
    )


def explain_article(run: RunFolder, article: Article) -> View:
    """Describe one article in full: also the features of the next candidates, and the attention of the heads.

    Raises:
        ArtifactError: a model cannot be loaded.
        PipelineError: the article cannot be answered.
    """
    if article.entities:
        return Analyst.load(run.path).explain(article)
    predictor = Predictor.load(run.path)
    return article_view(predictor, predictor.trace([article], strict=True)[0], explain_next=True)


def _analyse_chunk(analyst: Analyst, chunk: list[Article]) -> list[tuple[ArticleRecord, View]]:
    return analyst.analyse(chunk)


def build_report(
    run: RunFolder,
    gold: Sequence[Article],
    *,
    workers: int,
    gold_path: str = "",
    lang: str = "en",
    human_agreement: bool = False,
) -> Report:
    """Report on a run.

    Args:
        run: finished and checked.
        gold: labelled articles; of articles with one newsId the first counts, as in training.
        workers: processes.
        gold_path: is told in the report.
        lang: language of the page, "en" or "zh".
        human_agreement: add how far two people agree, which is known of the competition's articles alone.

    Raises:
        ArtifactError: a model cannot be loaded.
        DataError: there is no article.
    """
    articles = distinct(gold)
    spool = Spool()
    records: list[ArticleRecord] = []
    seen: dict[str, str] = {}
    stream = tqdm(
        analyse_stream(run, articles, workers=workers), total=len(articles), desc="report", unit="article", disable=None
    )
    with FailureLog() as failures:
        for record, view in stream:
            failures.add(record.news_id, record.failure)
            # One string for a term of many articles: each comes from a worker as a copy.
            shared = {seen.setdefault(term, term): count for term, count in record.terms.items()}
            record.terms.clear()
            record.terms.update(shared)
            records.append(record)
            spool.append(view)
    config = load_run_config(run.config)
    topic = topics([record.terms for record in records], seed=config.seed)
    figures = {
        "schema_version": SCHEMA_VERSION,
        "run": _about(run, config),
        "gold": {
            "path": gold_path,
            "n_articles": len(records),
            "n_gold": sum(len(record.outcome.gold) for record in records),
        },
        "lang": lang,
        **_figures(records, topic),
        "learning_curve": None,
    }
    if human_agreement:
        figures["ladder"].append(human_row())
    return Report(figures, spool, topic, [record.facts for record in records])


def _figures(records: Sequence[ArticleRecord], topic: Sequence[str]) -> dict[str, Any]:
    summary = _summary(records)
    by_id = sorted(range(len(records)), key=lambda index: records[index].news_id)
    scores = np.stack([record.scores for record in records])
    outcomes = [record.outcome for record in records]
    attribution = Attribution()
    for record in records:
        attribution.add(record.outcome.gold, record.pred, record.lost)
    names = [(record, entity) for record in records for entity in record.outcome.gold]
    emotion = emotion_figures(
        [entity.emotion for _, entity in names],
        np.concatenate([record.probs for record in records]),
        np.array([record.lost[entity.name] is None for record, entity in names], dtype=bool),
    )
    return {
        "summary": summary,
        # In the order of the metric, so that equal rows get equal intervals.
        "ladder": ladder(scores[by_id]),
        "attribution": attribution.to_dict(),
        "slices": slice_rows([record.facts for record in records], topic, outcomes, scores[:, 0]),
        "emotion": emotion,
        "recall_at_k": recall_at_k(outcomes),
        "threshold_curve": threshold_curve(
            [record.top for record in records], [len(outcome.gold) for outcome in outcomes], records[0].rule
        ),
    }


def _summary(records: Sequence[ArticleRecord]) -> dict[str, Any]:
    """Score the answers with the metric itself, not with the ladder's first row, which must agree."""
    evaluation = evaluate(
        {record.news_id: record.outcome.gold for record in records}, {record.news_id: record.pred for record in records}
    )
    figures: dict[str, Figure] = {}
    for name, interval in evaluation.intervals.items():
        figures[name] = {
            **figure(getattr(evaluation, name)),
            "low": round(interval.low, 6),
            "high": round(interval.high, 6),
        }
    pooled = {
        f"{kind}_{name}": round(getattr(counts, name), 6)
        for kind, counts in (("entity", evaluation.micro_entity), ("emotion", evaluation.micro_emotion))
        for name in ("precision", "recall", "f1")
    }
    accuracy = evaluation.emotion_accuracy
    on_hits = {"value": None if accuracy is None else round(accuracy, 6), "n": evaluation.n_hits}
    return {**figures, "micro": pooled, "emotion_accuracy_on_hits": on_hits}


def _about(run: RunFolder, config: Config) -> dict[str, Any]:
    return {
        "name": run.name,
        "command": " ".join(run.read_manifest().get("command", [])),
        "seed": config.seed,
        "mode": config.mode,
        "preset": run.preset,
    }
