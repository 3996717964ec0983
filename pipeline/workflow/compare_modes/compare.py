"""Two stages, one joint tagger, and the average of both: trained on the same folds and seeds, measured side by side."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.artifacts import RunFolder, read_json, read_table
from pipeline.data.read import Reading, iter_articles, read_training
from pipeline.errors import ConfigError
from pipeline.metric import FIGURES, Difference, article_scores, hit_counts, mean_gain, ratio_gain
from pipeline.schema import Article, Entity
from pipeline.workflow.compare_modes.table import Comparison, ModeRow
from pipeline.workflow.data_warnings import warn_of_known
from pipeline.workflow.out_of_fold import gold_by_key, out_of_fold_predictions
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import CHUNK_SIZE
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.script import as_read
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest

logger = logging.getLogger(__name__)

BASE = "two_stage"
TIMED_ARTICLES = 128
"""Training articles that are answered to measure the speed, where there is no test file."""

Answers = Mapping[str, Sequence[Entity]]


@dataclass(frozen=True)
class Data:
    """What the runs were trained on, and what they are tested on."""

    train: Sequence[Article]
    test: Sequence[Article]


def read_data(
    train_files: Sequence[Path], test: Path | None, *, limit: int | None = None, reading: Reading | None = None
) -> Data:
    """Read labelled articles.

    Raises:
        DataError: a file cannot be read or holds no labels.
    """
    tested = list(iter_articles(test, labelled=True, reading=reading)) if test else []
    trained = read_training(list(train_files), reading=reading)[:limit]
    warn_of_known(trained, tested, "--test")
    return Data(trained, tested)


def train_modes(requests: Sequence[TrainRequest], models: Path, *, name: str, resume: bool = False) -> list[RunFolder]:
    """Train a run for each request into ``models``; what two of them have in common is trained once.

    Args:
        requests: of different modes or seeds.
        models: folder of the runs.
        name: beginning of their names; mode and seed follow.
        resume: finished runs of that name are taken as they are, others are gone on with.
    """
    runs: list[RunFolder] = []
    for request in requests:
        config = request.config
        run = RunFolder.create(models, f"{name}-{config.mode}-s{config.seed}", resume=resume)
        if run.manifest.is_file():
            logger.info("run: %s, finished before", run.path)
        else:
            logger.info("run: %s", run.path)
            train(replace(request, reuse=tuple(runs)), run)
        runs.append(run)
    return runs


def compare_trained(runs: Sequence[RunFolder], data: Data) -> Comparison:
    """Measure finished runs against the two-stage ones; without such, against the first mode.

    Figures of several seeds are means; an interval resamples articles, the seeds of each kept together.

    Raises:
        ConfigError: fewer than two modes, or runs that differ in data, folds or seeds.
    """
    by_mode = _by_mode(runs, data)
    base = BASE if BASE in by_mode else next(iter(by_mode))
    gold = gold_by_key(as_read(data.train, load_run_config(runs[0].config)))
    n_gold = np.array([len({entity.name for entity in gold[news_id]}) for news_id in sorted(gold)], dtype=np.float64)
    oof = {
        mode: _Measured.of(gold, [out_of_fold_predictions(run) for run in of_mode], _found(of_mode, gold), n_gold)
        for mode, of_mode in by_mode.items()
    }
    speed: dict[str, float] = {}
    tested: dict[str, _Measured] = {}
    gold_of_test = {article.news_id: article.entities or () for article in data.test}
    for mode, of_mode in by_mode.items():
        timed = [_answers(run, data.test or data.train[:TIMED_ARTICLES]) for run in of_mode]
        speed[mode] = float(np.mean([rate for _, rate in timed]))
        if data.test:
            tested[mode] = _Measured.of(gold_of_test, [answers for answers, _ in timed])
    return Comparison(
        base=base,
        runs={mode: [run.name for run in of_mode] for mode, of_mode in by_mode.items()},
        n_train=len(data.train),
        n_test=len(data.test),
        out_of_fold={mode: row.against(oof[base], is_base=mode == base) for mode, row in oof.items()},
        test={mode: row.against(tested[base], is_base=mode == base) for mode, row in tested.items()},
        minutes={mode: float(np.mean([_minutes(run) for run in of_mode])) for mode, of_mode in by_mode.items()},
        articles_a_second=speed,
    )


@dataclass(frozen=True)
class _Measured:
    """Figures of the runs of one mode, by sorted article id."""

    scores: np.ndarray
    """float64 (n_articles, 2): entity F1 and emotion F1, means over the runs."""
    hits: np.ndarray
    """float64 (n_articles, 2): hits with the right emotion, and hits, sums over the runs."""
    found: np.ndarray | None
    """float64 (n_articles, 2): gold entities among the candidates, and gold entities, sums over the runs."""

    @classmethod
    def of(
        cls,
        gold: Mapping[str, Sequence[Entity]],
        answers: Sequence[Answers],
        found: np.ndarray | None = None,
        n_gold: np.ndarray | None = None,
    ) -> _Measured:
        scores = np.mean([article_scores(gold, answer)[1] for answer in answers], axis=0)
        hits = np.sum([hit_counts(gold, answer) for answer in answers], axis=0)
        if found is None or n_gold is None:
            return cls(scores, hits, None)
        return cls(scores, hits, np.stack([found, n_gold * len(answers)], axis=1))

    def against(self, base: _Measured, *, is_base: bool) -> ModeRow:
        entity_f1, emotion_f1 = self.scores.mean(0).tolist()
        values: dict[str, float] = {
            **dict(zip(FIGURES, (entity_f1, emotion_f1, (entity_f1 + emotion_f1) / 2), strict=True)),
            "emotion_accuracy": _ratio(self.hits),
        }
        gains: dict[str, Difference] = {}
        if not is_base:
            gains |= mean_gain(self.scores - base.scores)
            gains["emotion_accuracy"] = ratio_gain(base.hits, self.hits)
        if self.found is not None:
            values["candidate_recall"] = _ratio(self.found)
            if not is_base and base.found is not None:
                gains["candidate_recall"] = ratio_gain(base.found, self.found)
        return ModeRow(values, gains)


def _ratio(parts: np.ndarray) -> float:
    part, whole = parts.sum(0).tolist()
    return part / whole if whole else 0.0


def _by_mode(runs: Sequence[RunFolder], data: Data) -> dict[str, list[RunFolder]]:
    """Group runs by mode, and refuse those that cannot be compared."""
    facts: dict[str, list[tuple[int, int, bool, Any]]] = {}
    by_mode: dict[str, list[RunFolder]] = {}
    for run in runs:
        config = load_run_config(run.config)
        n_articles = read_json(run.metrics)["data"]["articles"]
        if n_articles != len(data.train):
            raise ConfigError(
                f"{run.path}: trained on {n_articles} articles, --train and --limit give {len(data.train)}"
            )
        digests = [file["sha256"] for file in run.read_manifest()["data"]]
        by_mode.setdefault(config.mode, []).append(run)
        facts.setdefault(config.mode, []).append(
            (config.seed, config.n_folds, config.text.to_simplified, sorted(digests))
        )
    if len(by_mode) < 2:
        raise ConfigError(f"a comparison needs runs of two modes or more, got {', '.join(by_mode) or 'none'}")
    first = next(iter(by_mode))
    for mode in by_mode:
        if sorted(facts[mode]) != sorted(facts[first]):
            raise ConfigError(
                f"runs of {mode} and {first} differ in training files, n_folds, seeds or text.to_simplified"
            )
    return by_mode


def _found(runs: Sequence[RunFolder], gold: Mapping[str, Any]) -> np.ndarray:
    """Count each article's gold entities among the candidates, summed over runs: the tables hold every gold one."""
    found = dict.fromkeys(sorted(gold), 0)
    for run in runs:
        for row in read_table(run.oof("rerank")).to_dict("records"):
            found[row["newsId"]] += row["is_gold"] == "1"
    return np.array(list(found.values()), dtype=np.float64)


def _answers(run: RunFolder, articles: Sequence[Article]) -> tuple[Answers, float]:
    """Return a run's answers, and how many articles it answers per second in one process, its models loaded."""
    predictor = Predictor.load(run.path)
    predictor.predict(articles[:1])  # what is loaded late is loaded now
    answers: dict[str, list[Entity]] = {}
    start = time.perf_counter()
    for first in range(0, len(articles), CHUNK_SIZE):
        for prediction in predictor.predict(articles[first : first + CHUNK_SIZE]):
            answers[prediction.news_id] = [Entity(entity.name, entity.emotion) for entity in prediction.entities]
    return answers, len(articles) / max(time.perf_counter() - start, 1e-9)


def _minutes(run: RunFolder) -> float:
    """Return the time to train all stages, those taken from another run included."""
    return sum(run.stage_seconds().values()) / 60
