"""The score over the number of training articles."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.artifacts import RunFolder, atomic_write_text, sha256_file, temporary_errors
from pipeline.data.read import read_training
from pipeline.errors import DataError
from pipeline.metric import Evaluation, evaluate
from pipeline.schema import Article, Entity
from pipeline.workflow.begun import Begun, reading_of_run
from pipeline.workflow.predict_stream import predict_stream
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest

logger = logging.getLogger(__name__)

PARTS = (0.25, 0.5)
"""Shares of the training articles that are trained on anew; the run itself is the last point."""


def training_files(run: RunFolder, given: Sequence[Path] = ()) -> list[Path]:
    """Return the files a run was trained on: those given, or those it was begun with.

    Raises:
        DataError: one is missing, or is not the file of the run (its SHA-256 differs).
    """
    manifest = run.read_manifest()
    named = [value for option, value in pairwise(manifest["command"]) if option == "--train"]
    if run.request.is_file():  # runs of before 0.2.0 have their command alone
        named = list(Begun.load(run).train)
    files = list(given) or [Path(name) for name in named]
    for path in files:
        if not path.is_file():
            raise DataError(f"{path}: no such file", hint=f"name the files of {run.path} with --train")
    want, have = sorted(file["sha256"] for file in manifest["data"]), sorted(map(sha256_file, files))
    if want != have:
        listing = ", ".join(map(str, files)) or "no file"
        raise DataError(f"{run.path}: was trained on other data than {listing}", hint="name its files with --train")
    return files


def learning_curve(
    run: RunFolder, files: Sequence[Path], gold: Sequence[Article], *, workers: int
) -> list[dict[str, Any]]:
    """Train on parts of a run's articles, with its options and seed, and score each on labelled articles.

    A smaller part lies within a larger one; which articles it holds depends on their ids and the seed alone.

    Args:
        run: finished; it is the last point.
        files: as from ``training_files``.
        gold: labelled articles.
        workers: processes.
    """
    config = replace(load_run_config(run.config), workers=workers)
    articles = sorted(read_training(list(files), reading=reading_of_run(run)), key=lambda article: article.news_id)
    order = np.random.default_rng(config.seed).permutation(len(articles))
    points = []
    with ExitStack() as stack:
        with temporary_errors():
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        for number, part in enumerate(PARTS):
            chosen = [articles[index] for index in sorted(order[: round(part * len(articles))].tolist())]
            logger.info("learning curve: training on %d articles", len(chosen))
            path = Path(folder) / f"train-{number}.jsonl"
            atomic_write_text(path, "".join(map(_line, chosen)))
            small = RunFolder.create(Path(folder), f"part-{number}")
            train(TrainRequest([path], config, command=["learning curve"]), small)
            points.append(_point(len(chosen), _score(small, gold, workers=workers)))
        points.append(_point(len(articles), _score(run, gold, workers=workers)))
    return points


def _line(article: Article) -> str:
    labels = [{"entity": entity.name, "emotion": entity.emotion.value} for entity in article.entities or ()]
    row = {
        "newsId": article.news_id,
        "coreEntityEmotions": labels,
        "title": article.title,
        "content": article.content,
        "truncated": article.truncated,
    }
    return json.dumps(row) + "\n"


def _score(run: RunFolder, gold: Sequence[Article], *, workers: int) -> Evaluation:
    pred = {
        answer.news_id: [Entity(entity.name, entity.emotion) for entity in answer.entities]
        for answer in predict_stream(run, gold, workers=workers)
    }
    return evaluate({article.news_id: article.entities or () for article in gold}, pred, n_resamples=0)


def _point(n_articles: int, found: Evaluation) -> dict[str, Any]:
    figures = {"entity_f1": found.entity_f1, "emotion_f1": found.emotion_f1, "score": found.score}
    return {"n_articles": n_articles, **{name: round(value, 6) for name, value in figures.items()}}
