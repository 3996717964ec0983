"""What a search takes from a finished run: its articles, folds, features, and out-of-fold emotions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from pipeline.artifacts import RunFolder, read_json, read_table, sha256_file
from pipeline.config import Config
from pipeline.data.folds import assign_folds, group_articles
from pipeline.data.read import BadRowPolicy, read_training
from pipeline.entities.features import FeatureTable
from pipeline.entities.tagging import out_of_fold_spans
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.schema import Article, Emotion
from pipeline.workflow.begun import reading_of_run
from pipeline.workflow.candidate_stage import build_table
from pipeline.workflow.out_of_fold import out_of_fold_emotions
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.script import as_read

logger = logging.getLogger(__name__)

Metric = Literal["score", "entity_f1", "emotion_f1"]
METRICS: tuple[Metric, ...] = get_args(Metric)
TFIDF = "tfidf"
"""The emotion model whose options can be searched."""


@dataclass(frozen=True)
class RunData:
    """Articles of a run with all that a trial needs; one entry of each list per article, in the order of their ids."""

    config: Config
    articles: list[Article]
    folds: list[int]
    table: FeatureTable
    emotions: dict[tuple[str, str], Emotion]
    """Out-of-fold emotion of each gold entity, by newsId and match key, as the run answered."""
    figures: dict[str, float]
    """Out-of-fold figures that the run's training printed."""


def check_run(run: RunFolder) -> Config:
    """Return the options of a run whose reranker and emotion model alone make its answers.

    Raises:
        ConfigError: other models take part.
    """
    config = load_run_config(run.config)
    for name, value, wanted in (
        ("mode", config.mode, "two_stage"),
        ("cross.name", config.cross.name, "none"),
        ("relevance.name", config.relevance.name, "none"),
    ):
        if value != wanted:
            raise ConfigError(f"{run.path}: has {name}={value}; a search wants a run with {name}={wanted}")
    return config


def load_run_data(run: RunFolder, files: Sequence[Path], *, workers: int | None = None) -> RunData:
    """Read the articles again, and describe their candidates with the run's own extractor. Nothing is trained.

    Args:
        run: a finished run, checked by ``check_run``.
        files: the files it was trained on, in the same order.
        workers: processes; the run's own number by default.

    Raises:
        DataError: the run was trained on other files.
        ArtifactError: a file of the run is damaged, or its folds are not those of this version.
    """
    config = check_run(run)
    config = replace(config, workers=workers or config.workers)
    _check_files(run, files)
    metrics = read_json(run.metrics)
    articles = read_training(list(files), policy=BadRowPolicy.SKIP, reading=reading_of_run(run))
    articles = as_read(articles[: metrics["data"]["articles"]], config)
    articles = sorted(articles, key=lambda article: article.news_id)
    folds = assign_folds(group_articles(articles), n_folds=config.n_folds, seed=config.seed)
    for row in read_table(run.oof("rerank")).to_dict("records"):
        if folds.get(row["newsId"]) != int(row["fold"]):
            raise ArtifactError(f"{run.oof('rerank')}: article {row['newsId']} is in another fold", hint="train again")
    fold_of = [folds[article.news_id] for article in articles]
    spans = None
    if config.tagger.name != "none":
        found = out_of_fold_spans(run.stage("tagger"), fold_of)
        spans = {article.news_id: each for article, each in zip(articles, found, strict=True)}
    with TemporaryDirectory() as store:
        table, _ = build_table(articles, folds, config, run.stage("candidates"), store=Path(store), spans=spans)
        table = table.in_memory()
    figures: dict[str, float] = {name: float(metrics["out_of_fold"][name]) for name in METRICS}
    emotions = out_of_fold_emotions(run)
    return RunData(config, articles, fold_of, table, emotions, figures)


def _check_files(run: RunFolder, files: Sequence[Path]) -> None:
    trained = run.read_manifest()["data"]
    for path in files:
        if not path.exists():
            raise DataError(f"{path}: no such file")
    listed = ", ".join(f"{part['name']} ({part['rows']} rows)" for part in trained)
    for index, path in enumerate(files):
        if index >= len(trained) or sha256_file(path) != trained[index]["sha256"]:
            raise DataError(f"{path}: not what {run.path} was trained on: {listed}", hint="give those with --train")
    if len(files) < len(trained):
        raise DataError(f"{run.path} was trained on {listed}, got {len(files)} of them", hint="give all with --train")
