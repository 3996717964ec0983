"""Train a run: taggers, candidates, reranker, sentiment; each stage is skipped where --resume finds it done."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
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
from pipeline.config import key_options
from pipeline.data.folds import assign_folds, group_articles
from pipeline.data.read import Reading, ReadReport, count_rows, iter_articles, read_training
from pipeline.data.seen import SeenTexts, article_key
from pipeline.emotions.sentiment import SentimentStage, gold_targets
from pipeline.entities.cross_ranker import CrossReranker, FirstPass
from pipeline.entities.features import FeatureTable
from pipeline.entities.features.extract import save_counts
from pipeline.entities.relevance import RelevanceStage
from pipeline.entities.rerank import OutOfFoldRankings, RerankStage
from pipeline.entities.tagging import TaggerStage, gold_text
from pipeline.joint import JointStage
from pipeline.metric import evaluate
from pipeline.runtime.processes import n_processes
from pipeline.schema import Entity, occurrence_keys
from pipeline.text import Document, default_segmenter
from pipeline.workflow.begun import Begun
from pipeline.workflow.budget import within_budget
from pipeline.workflow.candidate_stage import Spans, build_pairs, build_table, dictionary_path, fit_extractor
from pipeline.workflow.checks import check_models
from pipeline.workflow.data_warnings import warn_of_data
from pipeline.workflow.modes import StageSet, join_predictions
from pipeline.workflow.out_of_fold import score_out_of_fold
from pipeline.workflow.predict_stream import predict_stream
from pipeline.workflow.run_config import save_run_config
from pipeline.workflow.script import as_read
from pipeline.workflow.train_request import TrainRequest
from pipeline.workflow.transfer import read_others

logger = logging.getLogger(__name__)


def train(request: TrainRequest, run: RunFolder) -> dict[str, Any]:
    """Train every stage into the run folder and return the figures of ``metrics.json``.

    What is wrong with data or options is found before the folder is made or touched.

    Raises:
        PipelineError: unusable data, options, or a folder in use.
    """
    training = _Training(request, run)
    with run.claim():
        return training.run_all()


class _Training:
    """One training: the articles, their folds, and the stages in order."""

    def __init__(self, request: TrainRequest, run: RunFolder) -> None:
        self.request, self.run, self.config = request, run, request.config
        check_models(self.config)
        report = ReadReport()
        how, policy = request.reading, request.policy
        articles = read_training(list(request.train), policy=policy, report=report, reading=how)[: request.limit]
        articles = as_read(articles, self.config)
        # In the order of their ids: a shuffled file trains the same models.
        self.articles = sorted(articles, key=lambda article: article.news_id)
        # What would stop a later stage is found now, before hours of training.
        dev = iter_articles(request.dev, labelled=True, policy=policy, reading=how) if request.dev else ()
        self.dev = list(dev)
        self.dictionary = dictionary_path(self.config.candidates)
        self.others = read_others(self.config.sentiment, self.articles, simplify=self.config.text.to_simplified)
        self.parts = StageSet.of(self.config)
        relevance, log = self.config.relevance, run.log_jsonl
        self.relevance = RelevanceStage(relevance, seed=self.config.seed, log=log) if relevance.is_on else None
        warn_of_data(self.articles, self.config, as_read(self.dev, self.config))
        groups, seed = group_articles(self.articles), self.config.seed
        assign_folds(groups, n_folds=self.config.n_folds, seed=seed)  # too few articles are told before any is tried
        self.config, self.planned = within_budget(self.config, self.articles, request.given, request.planned)
        self.folds = assign_folds(groups, n_folds=self.config.n_folds, seed=seed)
        self.data = [DataFile.of(path, rows=count_rows(path)) for path in request.train]
        self.figures: dict[str, Any] = {
            "preset": request.preset,
            "data": {**report.to_dict(), "articles": len(self.articles)},
            "seconds": {},
            **({"budget": self.planned} if self.planned else {}),
        }

    def run_all(self) -> dict[str, Any]:
        save_run_config(self.run.config, self.config)
        self._begun().save(self.run)
        base = key = self._base_key()
        parts = self.parts
        joint_key = self._fit_joint_stage(key) if parts.joint else ""
        if parts.tagger:
            key = self._stage("tagger", key, key_options(self.config.tagger), work=self._fit_tagger)
        elif parts.joint:
            key = joint_key
        if parts.reranker:
            kept = ["features kept"] if parts.cross else []
            options = [key_options(part) for part in (self.config.rerank, self.config.relevance)]
            key = self._stage("rerank", key, *options, *kept, work=self._fit_rerank)
        if parts.cross:
            self._stage("cross", key, asdict(self.config.cross), work=self._fit_cross)
        if parts.sentiment:
            networks = [asdict(part) for part in (self.config.sentiment, self.config.head, self.config.training)]
            others = [sha256_file(Path(file)) for file in self.config.sentiment.transfer]
            # Emotions are learnt from gold entities: nothing that finds entities changes them.
            self._stage("sentiment", base, *networks, *others, work=self._fit_sentiment)
        if parts.joint:
            self.figures |= join_predictions(self.run, self.config, self.articles, self.folds, self.figures)
        self.figures["out_of_fold"] = score_out_of_fold(self.run, self.articles).to_dict()
        SeenTexts.of(map(article_key, self.articles)).save(self.run.path)
        self.run.finish(
            command=self.request.command,
            seed=self.config.seed,
            threads=self.config.workers,
            data=self.data,
            preset=self.request.preset,
            facts={
                "segmenter": default_segmenter().name,
                "cutter": default_segmenter().cutter,
                "processes": n_processes(),
            },
        )
        if self.dev:
            self.figures["dev"] = self._score_dev()
        atomic_write_json(self.run.metrics, self.figures)
        return self.figures

    def _begun(self) -> Begun:
        request = self.request
        return Begun(
            train=tuple(map(str, request.train)),
            sha256=tuple(file.sha256 for file in self.data),
            dev=str(request.dev) if request.dev else None,
            limit=request.limit,
            skip_bad_rows=request.skip_bad_rows,
            preset=request.preset,
            reading=request.reading.to_dict(),
            planned=self.planned,
        )

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
            *(["simplified"] if self.config.text.to_simplified else []),
            *([] if self.request.reading == Reading() else [self.request.reading.to_dict()]),
        )

    def _stage(self, name: str, *parts: Any, work: Callable[[], list[Path]]) -> str:
        """Do a stage unless it was done before with the same options and data; return its key."""
        key = stage_key(name, *parts)
        figures = self.run.stage(name) / "figures.json"
        names = {f"oof/{table}.csv": f"oof/{self._table(table)}.csv" for table in ("rerank", "sentiment")}
        if self.run.stage_done(name, key):
            logger.info("stage %s: done before", name)
        elif any(self.run.take_over(other, name, key=key, names=names) for other in self.request.reuse):
            logger.info("stage %s: taken from another run", name)
        else:
            with StageTimer() as timer:
                files = work()
            self.run.mark_stage(name, key=key, files=[*files, figures], seconds=timer.seconds)
            logger.info("stage %s: %.0f s", name, timer.seconds)
        self.figures[name] = read_json(figures)
        self.figures["seconds"] = self.run.stage_seconds()
        return key

    def _table(self, name: str) -> str:
        """Return the name of a two-stage model's out-of-fold table: apart where the run's answers are averages."""
        return f"two_stage_{name}" if self.config.mode == "fused" else name

    def _fit_joint_stage(self, key: str) -> str:
        # What is done with the tagger's answers does not change it.
        unused = {"ranking": None, "shares_tagger": None}
        options = {**asdict(self.config.joint), **unused, "max_entities": self.config.rerank.max_entities}
        return self._stage("joint", key, key_options(self.config.tagger), options, work=self._fit_joint)

    def _fit_joint(self) -> list[Path]:
        folder = self.run.stage("joint")
        documents = [Document.of(article) for article in self.articles]
        folds = [self.folds[article.news_id] for article in self.articles]
        stage = JointStage(self.config, log=self.run.log_jsonl)
        stage.fit(documents, folds, folder=folder, training_map=self.request.training_map)
        stage.save(folder)
        ranked = stage.ranking_.ranked_
        write_table(self.run.oof("joint"), stage.oof_)
        write_table(self.run.oof("joint_entities"), ranked.table(stage.ranking_.rule_))
        figures = {
            "candidates_per_article": sum(map(len, ranked.keys)) / len(ranked.keys),
            "candidate_recall": ranked.recall(),
            "rule": asdict(stage.ranking_.rule_),
            "oof_entity_f1": stage.ranking_.oof_entity_f1_,
            "table": [asdict(stage.scores_)],
        }
        atomic_write_json(folder / "figures.json", figures)
        return [folder, self.run.oof("joint"), self.run.oof("joint_entities")]

    def _tagger_stage(self) -> TaggerStage:
        """Train the tagger; what was trained before, also in a run that was broken off, is only loaded.

        Where the reranker has no tagger of its own it is the joint tagger, whose spans carry emotions.
        """
        folds = [self.folds[article.news_id] for article in self.articles]
        training_map = self.request.training_map
        if not self.parts.tagger:
            documents = [Document.of(article) for article in self.articles]
            joint = JointStage(self.config, log=self.run.log_jsonl)
            return joint.fit_tagger(documents, folds, folder=self.run.stage("joint"), training_map=training_map)
        stage = TaggerStage(self.config, log=self.run.log_jsonl)
        texts = [gold_text(Document.of(article)) for article in self.articles]
        return stage.fit(texts, folds, folder=self.run.stage("tagger"), training_map=training_map)

    def _fit_tagger(self) -> list[Path]:
        stage = self._tagger_stage()
        n_spans = sum(map(len, stage.oof_))
        atomic_write_json(
            self.run.stage("tagger") / "figures.json", {"oof_spans_per_article": n_spans / len(self.articles)}
        )
        return [self.run.stage("tagger")]

    def _oof_spans(self) -> Spans | None:
        if not (self.parts.tagger or self.parts.joint):
            return None
        found = self._tagger_stage().oof_
        return {article.news_id: spans for article, spans in zip(self.articles, found, strict=True)}

    def _fit_relevance(self, stage: RelevanceStage, spans: Spans | None) -> list[np.ndarray]:
        """Train the matcher, as far as it was not trained before; return its out-of-fold scores."""
        candidates, chunk_map = self.run.stage("candidates"), self.request.chunk_map
        pairs = build_pairs(self.articles, self.folds, self.config, candidates, spans=spans, chunk_map=chunk_map)
        folds = [self.folds[article.news_id] for article in self.articles]
        folder, workers, training_map = self.run.stage("relevance"), self.config.workers, self.request.training_map
        return stage.fit(pairs, folds, folder=folder, workers=workers, training_map=training_map).oof_

    def _fit_rerank(self) -> list[Path]:
        spans = self._oof_spans()
        candidates, rerank = self.run.stage("candidates"), self.run.stage("rerank")
        data = (self.articles, self.folds, self.config, candidates)
        chunk_map = self.request.chunk_map
        fit_extractor(*data, spans=spans, chunk_map=chunk_map)
        scores = self._fit_relevance(self.relevance, spans) if self.relevance else None
        store = self.run.snapshots / "features"
        table, counts = build_table(*data, store=store, spans=spans, relevance=scores, chunk_map=chunk_map)
        save_counts(candidates, counts)
        folds = [self.folds[news_id] for news_id in table.news_ids]
        stage = RerankStage(self.config.rerank, seed=self.config.seed)
        workers, training_map = self.config.workers, self.request.training_map
        stage.fit(table, folds, folder=rerank, workers=workers, training_map=training_map)
        ranked = _ranked(table, folds, stage.oof_probs_)
        files = [candidates, rerank, *([self.run.stage("relevance")] if self.relevance else [])]
        if self.parts.cross:
            files += FirstPass(table, stage.oof_probs_).save(self.run.snapshots)
        else:
            files.append(self.run.oof(self._table("rerank")))
            write_table(files[-1], ranked.table(stage.rule_))
        figures = {
            "candidates_per_article": sum(map(len, table.keys)) / len(table.keys),
            "candidate_recall": ranked.recall(),
            "n_features": len(table.names),
            "rule": asdict(stage.rule_),
            "oof_entity_f1": stage.oof_entity_f1_,
        }
        if self.relevance:
            figures["relevance_auc"] = self.relevance.oof_auc_
        atomic_write_json(rerank / "figures.json", figures)
        shutil.rmtree(store)
        return files

    def _fit_cross(self) -> list[Path]:
        folder, first = self.run.stage("cross"), FirstPass.load(self.run.snapshots)
        documents = [Document.of(article) for article in self.articles]
        folds = [self.folds[article.news_id] for article in self.articles]
        second = CrossReranker(self.config, log=self.run.log_jsonl)
        second.fit(first.table, first.probs, documents, folds, folder=folder, training_map=self.request.training_map)
        oof = self.run.oof(self._table("rerank"))
        write_table(oof, _ranked(first.table, folds, second.oof_probs_).table(second.rule_, first=first.probs))
        n_read = sum(
            int(label[np.isfinite(cross)].sum())
            for label, cross in zip(first.table.labels, second.oof_cross_, strict=True)
        )
        figures = {
            "recall_at_top_k": n_read / max(sum(first.table.n_gold), 1),
            "rule": asdict(second.rule_),
            "oof_entity_f1": second.oof_entity_f1_,
        }
        atomic_write_json(folder / "figures.json", figures)
        return [folder, oof]

    def _fit_sentiment(self) -> list[Path]:
        folder = self.run.stage("sentiment")
        documents = map(Document.of, self.articles)  # one at a time: their maps to the origin are large
        examples = gold_targets(documents, max_chars=self.config.sentiment.max_context_chars)
        stage = SentimentStage(self.config, log=self.run.log_jsonl)
        training_map = self.request.training_map
        stage.fit(examples, self.folds, folder=folder, others=self.others, training_map=training_map)
        oof = self.run.oof(self._table("sentiment"))
        write_table(oof, stage.oof_)
        atomic_write_json(
            folder / "figures.json", {"chosen": stage.chosen_, "table": [asdict(row) for row in stage.table_]}
        )
        return [folder, oof]

    def _score_dev(self) -> dict[str, Any]:
        """Score the finished run on a labelled file that took no part in training."""
        gold = dict(
            zip(
                occurrence_keys(article.news_id for article in self.dev),
                (article.entities or () for article in self.dev),
                strict=True,
            )
        )
        predictions = predict_stream(self.run, self.dev, workers=self.config.workers, chunk_map=self.request.chunk_map)
        bar = tqdm(predictions, total=len(self.dev), desc="dev", unit="article", disable=None)
        # One answer per article, in order: an id that occurs again has the keys of its gold rows.
        pred = {
            key: [Entity(entity.name, entity.emotion) for entity in prediction.entities]
            for key, prediction in zip(gold, bar, strict=True)
        }
        return evaluate(gold, pred).to_dict()


def _ranked(table: FeatureTable, folds: Sequence[int], probs: Sequence[np.ndarray]) -> OutOfFoldRankings:
    return OutOfFoldRankings(table.news_ids, folds, table.keys, table.firsts, probs, table.labels, table.n_gold)
