"""Train a run: candidates, reranker, sentiment; each stage is skipped where --resume finds it done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from pipeline.artifacts import (
    DataFile,
    RunFolder,
    StageTimer,
    atomic_write_json,
    read_json,
    sha256_file,
    stage_key,
    write_table,
)
from pipeline.config import Config
from pipeline.features import FeatureTable
from pipeline.features.extract import save_counts
from pipeline.folds import assign_folds, group_articles
from pipeline.metric import evaluate
from pipeline.read import BadRowPolicy, ReadReport, count_rows, iter_articles, read_training
from pipeline.rerank import RerankStage, ranking
from pipeline.schema import Entity
from pipeline.sentiment import SentimentStage, gold_targets
from pipeline.sentiment.members import check_member
from pipeline.tagging import TaggerStage, gold_text
from pipeline.text import Document, default_segmenter
from pipeline.workflow.candidate_stage import Spans, build_table, dictionary_path, fit_extractor
from pipeline.workflow.out_of_fold import score_out_of_fold
from pipeline.workflow.predict import NO_TAGGER, predict_stream
from pipeline.workflow.run_config import save_run_config

logger = logging.getLogger(__name__)

OOF_CANDIDATES_KEPT = 20
"""Best candidates of each article written to the out-of-fold table, beside every gold one."""


@dataclass
class TrainRequest:
    """What to train on, and how."""

    train: Sequence[Path]
    config: Config
    dev: Path | None = None
    limit: int | None = None
    skip_bad_rows: bool = False
    command: Sequence[str] = field(default_factory=list)

    @property
    def policy(self) -> BadRowPolicy:
        """What to do with malformed rows."""
        return BadRowPolicy.SKIP if self.skip_bad_rows else BadRowPolicy.STOP


def train(request: TrainRequest, run: RunFolder) -> dict[str, Any]:
    """Train every stage into the run folder and return the figures of ``metrics.json``.

    Raises:
        PipelineError: unusable data, options, or a folder in use.
    """
    with run.claim():
        return _Training(request, run).run_all()


class _Training:
    """One training: the articles, their folds, and the stages in order."""

    def __init__(self, request: TrainRequest, run: RunFolder) -> None:
        self.request, self.run, self.config = request, run, request.config
        report = ReadReport()
        articles = read_training(list(request.train), policy=request.policy, report=report)[: request.limit]
        # In the order of their ids: a shuffled file trains the same models.
        self.articles = sorted(articles, key=lambda article: article.news_id)
        self.folds = assign_folds(group_articles(self.articles), n_folds=self.config.n_folds, seed=self.config.seed)
        # What would stop a later stage is found now, before hours of training.
        self.dev = list(iter_articles(request.dev, labelled=True, policy=request.policy)) if request.dev else []
        self.dictionary = dictionary_path(self.config.candidates)
        for name in self.config.sentiment.members:
            check_member(name, self.config)
        self.data = [DataFile.of(path, rows=count_rows(path)) for path in request.train]
        self.figures: dict[str, Any] = {"data": {**report.to_dict(), "articles": len(self.articles)}, "seconds": {}}

    def run_all(self) -> dict[str, Any]:
        save_run_config(self.run.config, self.config)
        key = self._base_key()
        if self.config.tagger.name != NO_TAGGER:
            key = self._stage("tagger", key, asdict(self.config.tagger), work=self._fit_tagger)
        key = self._stage("rerank", key, asdict(self.config.rerank), work=self._fit_rerank)
        networks = [asdict(part) for part in (self.config.sentiment, self.config.head, self.config.training)]
        self._stage("sentiment", key, *networks, work=self._fit_sentiment)
        self.figures["out_of_fold"] = score_out_of_fold(self.run, self.articles).to_dict()
        self.run.finish(
            command=self.request.command,
            seed=self.config.seed,
            threads=self.config.workers,
            data=self.data,
            facts={"segmenter": default_segmenter().name},
        )
        if self.dev:
            self.figures["dev"] = self._score_dev()
        atomic_write_json(self.run.metrics, self.figures)
        return self.figures

    def _base_key(self) -> str:
        logger.info("dictionary: %s", self.dictionary or "none")
        return stage_key(
            [file.sha256 for file in self.data],
            self.request.limit,
            sha256_file(self.dictionary) if self.dictionary else None,
            default_segmenter().name,
            self.config.seed,
            self.config.n_folds,
            asdict(self.config.candidates),
        )

    def _stage(self, name: str, *parts: Any, work: Callable[[], list[Path]]) -> str:
        """Do a stage unless it was done before with the same options and data; return its key."""
        key = stage_key(name, *parts)
        figures = self.run.stage(name) / "figures.json"
        if self.run.stage_done(name, key):
            logger.info("stage %s: done before", name)
        else:
            with StageTimer() as timer:
                files = work()
            self.run.mark_stage(name, key=key, files=[*files, figures], seconds=timer.seconds)
            logger.info("stage %s: %.0f s", name, timer.seconds)
        self.figures[name] = read_json(figures)
        self.figures["seconds"] = self.run.stage_seconds()
        return key

    def _tagger_stage(self) -> TaggerStage:
        """Train the tagger; what was trained before, also in a run that was broken off, is only loaded."""
        texts = [gold_text(Document.of(article)) for article in self.articles]
        folds = [self.folds[article.news_id] for article in self.articles]
        stage = TaggerStage(self.config, log=self.run.log_jsonl)
        return stage.fit(texts, folds, folder=self.run.stage("tagger"))

    def _fit_tagger(self) -> list[Path]:
        stage = self._tagger_stage()
        n_spans = sum(map(len, stage.oof_))
        atomic_write_json(
            self.run.stage("tagger") / "figures.json", {"oof_spans_per_article": n_spans / len(self.articles)}
        )
        return [self.run.stage("tagger")]

    def _oof_spans(self) -> Spans | None:
        if self.config.tagger.name == NO_TAGGER:
            return None
        found = self._tagger_stage().oof_
        return {article.news_id: spans for article, spans in zip(self.articles, found, strict=True)}

    def _fit_rerank(self) -> list[Path]:
        spans = self._oof_spans()
        candidates, rerank = self.run.stage("candidates"), self.run.stage("rerank")
        fit_extractor(self.articles, self.folds, self.config, candidates, spans=spans)
        table, counts = build_table(self.articles, self.folds, self.config, candidates, spans=spans)
        save_counts(candidates, counts)
        folds = [self.folds[news_id] for news_id in table.news_ids]
        stage = RerankStage(self.config.rerank, seed=self.config.seed)
        stage.fit(table, folds, workers=self.config.workers)
        stage.save(rerank)
        write_table(self.run.oof("rerank"), _oof_candidates(table, stage, folds))
        n_found, n_gold = sum(int(label.sum()) for label in table.labels), sum(table.n_gold)
        figures = {
            "candidates_per_article": sum(map(len, table.keys)) / len(table.keys),
            "candidate_recall": n_found / max(n_gold, 1),
            "n_features": len(table.names),
            "rule": asdict(stage.rule_),
            "oof_entity_f1": stage.oof_entity_f1_,
        }
        atomic_write_json(rerank / "figures.json", figures)
        return [candidates, rerank, self.run.oof("rerank")]

    def _fit_sentiment(self) -> list[Path]:
        folder = self.run.stage("sentiment")
        documents = [Document.of(article) for article in self.articles]
        examples = gold_targets(documents, max_chars=self.config.sentiment.max_context_chars)
        stage = SentimentStage(self.config, log=self.run.log_jsonl).fit(examples, self.folds)
        stage.save(folder)
        write_table(self.run.oof("sentiment"), stage.oof_)
        atomic_write_json(
            folder / "figures.json", {"chosen": stage.chosen_, "table": [asdict(row) for row in stage.table_]}
        )
        return [folder, self.run.oof("sentiment")]

    def _score_dev(self) -> dict[str, Any]:
        """Score the finished run on a labelled file that took no part in training."""
        gold = {article.news_id: article.entities or () for article in self.dev}
        predictions = predict_stream(self.run, self.dev, workers=self.config.workers)
        pred = {
            prediction.news_id: [Entity(entity.name, entity.emotion) for entity in prediction.entities]
            for prediction in tqdm(predictions, total=len(self.dev), desc="dev", unit="article", disable=None)
        }
        return evaluate(gold, pred).to_dict()


def _oof_candidates(table: FeatureTable, stage: RerankStage, folds: Sequence[int]) -> pd.DataFrame:
    """List each article's best candidates and its gold ones, with out-of-fold probabilities."""
    rows = []
    for index, (news_id, fold) in enumerate(zip(table.news_ids, folds, strict=True)):
        probs, labels = stage.oof_probs_[index], table.labels[index]
        keys, firsts = table.keys[index], table.firsts[index]
        chosen = set(stage.choose(probs, keys, firsts))
        for rank, row in enumerate(ranking(probs, keys, firsts)):
            if rank < OOF_CANDIDATES_KEPT or labels[row]:
                facts = (f"{probs[row]:.6f}", fold, int(labels[row]), int(row in chosen))
                rows.append((news_id, keys[row], rank + 1, *facts))
    return pd.DataFrame(rows, columns=["newsId", "entity", "rank", "score", "fold", "is_gold", "is_chosen"])
