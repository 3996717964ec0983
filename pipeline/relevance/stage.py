"""The matcher as a stage: one model a fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json, stage_key
from pipeline.config import RelevanceConfig
from pipeline.errors import ArtifactError, DataError
from pipeline.parallel import deaf_children
from pipeline.registry import MATCHERS, unknown_name
from pipeline.relevance.pairs import ArticlePairs

if TYPE_CHECKING:
    from pipeline.relevance.model import RelevanceModel
    from pipeline.training import JsonLinesLog

logger = logging.getLogger(__name__)

MODEL, FOLDS, DONE = "model", "folds", "done.json"
"""Names in the stage's folder."""


class RelevanceStage:
    """Scores the candidates of articles against their titles.

    ``fit`` trains one model for each fold, which scores the articles of that fold, and one on all articles, which
    predicts. Each of these trainings is a process of its own on one thread, so the scores do not depend on how many
    run at a time; each is saved once done, and not repeated when ``fit`` is called again with the same data and
    options.

    Learnt: ``oof_``, the scores of each training article's candidates, float64 (n_candidates,), from the model that
    did not see its fold; ``oof_auc_``; ``model_``.

    Args:
        config: options; ``name`` is not "none".
        seed: of the run.
        log: file that gets a JSON line for each epoch.

    Raises:
        ConfigError: there is no such matcher.
    """

    def __init__(self, config: RelevanceConfig, *, seed: int, log: Path | None = None) -> None:
        if config.name not in MATCHERS:
            raise unknown_name("matcher", config.name, MATCHERS)
        self.config = config
        self.seed = seed
        self.log = log

    def fit(self, articles: Sequence[ArticlePairs], folds: Sequence[int], *, folder: Path, workers: int = 1) -> Self:
        """Train out-of-fold and on all, ``workers`` models at a time.

        Args:
            articles: the training articles. Those without a core entity among their candidates are scored, but take
                no part in training.
            folds: the fold of each.
            folder: of the stage in the run.
            workers: processes.

        Raises:
            DataError: the articles of all folds but one have no core entity among their candidates.
        """
        if len(folds) != len(articles):
            raise ValueError(f"{len(articles)} articles but {len(folds)} folds")
        base = stage_key(asdict(self.config), self.seed, _digest(articles), list(folds))
        jobs = []
        for fold in (*sorted(set(folds)), None):
            job = _Job(self.config, self.seed, fold, folder, stage_key(base, fold), self.log)
            if not job.is_done():
                rest, held_out = _split(articles, folds, fold)
                rest = [article for article in rest if article.is_core.any()]
                if not rest:
                    raise DataError("no training article has a core entity among its candidates: nothing to pair")
                jobs.append(delayed(_run)(job, rest, held_out))
        with deaf_children():
            runs = Parallel(n_jobs=min(workers, max(1, len(jobs))), return_as="generator")(jobs)
        for _ in tqdm(runs, desc="relevance", total=len(jobs), unit="model", disable=None):
            pass
        self.oof_: list[np.ndarray] = [np.zeros(0) for _ in articles]
        for fold in sorted(set(folds)):
            held_out_rows = [index for index, other in enumerate(folds) if other == fold]
            for index, scores in zip(held_out_rows, _read_scores(_scores_path(folder, fold)), strict=True):
                self.oof_[index] = scores
        self.oof_auc_ = mean_auc(self.oof_, [article.is_core for article in articles])
        logger.info("relevance %s: out-of-fold AUC within an article %.4f", self.config.name, self.oof_auc_)
        self.model_ = _load_model(folder / MODEL, self.config)
        return self

    def predict(self, articles: Sequence[ArticlePairs]) -> list[np.ndarray]:
        """Return the scores of each article's candidates, float64 (n_candidates,), 0 to 1."""
        return self.model_.predict(articles)

    def save(self, folder: Path) -> None:
        """Write the model that predicts; ``fit`` has done so in its own folder."""
        self.model_.save(folder / MODEL)

    @classmethod
    def load(cls, folder: Path, config: RelevanceConfig, *, seed: int) -> Self:
        """Read the model that predicts.

        Raises:
            ArtifactError: it is missing or damaged, or does not fit the options.
        """
        stage = cls(config, seed=seed)
        stage.model_ = _load_model(folder / MODEL, config)
        return stage


def mean_auc(scores: Sequence[np.ndarray], is_core: Sequence[np.ndarray]) -> float:
    """Return the chance that a core candidate scores higher than another of its article; a tie counts as one half.

    Mean over the articles that have both; 0.5 where none has.
    """
    chances = []
    for score, core in zip(scores, is_core, strict=True):
        if core.any() and not core.all():
            margin = score[core][:, None] - score[~core]
            chances.append(float(((margin > 0) + 0.5 * (margin == 0)).mean()))
    return float(np.mean(chances)) if chances else 0.5


@dataclass(frozen=True)
class _Job:
    """One training: without a fold, or (None) on all articles."""

    config: RelevanceConfig
    seed: int
    fold: int | None
    folder: Path
    key: str
    log: Path | None

    @property
    def marker(self) -> Path:
        """Written last: says what the training rested on."""
        return self.folder / (MODEL if self.fold is None else f"{FOLDS}/{self.fold}") / DONE

    def is_done(self) -> bool:
        return self.marker.is_file() and read_json(self.marker) == {"key": self.key}


def _run(job: _Job, articles: Sequence[ArticlePairs], held_out: Sequence[ArticlePairs]) -> None:
    from pipeline.relevance.model import RelevanceModel

    seed = zlib.crc32(f"{job.seed}/relevance/{job.config.name}/{job.fold}".encode())
    model = RelevanceModel(job.config, seed=seed, log=_log(job.log, job)).fit(articles)
    if job.fold is None:
        model.save(job.folder / MODEL)
    else:
        content = json.dumps([scores.tolist() for scores in model.predict(held_out)])
        atomic_write_bytes(_scores_path(job.folder, job.fold), gzip.compress(content.encode(), 6, mtime=0))
    atomic_write_json(job.marker, {"key": job.key})


def _split(
    articles: Sequence[ArticlePairs], folds: Sequence[int], held_out: int | None
) -> tuple[list[ArticlePairs], list[ArticlePairs]]:
    pairs = list(zip(articles, folds, strict=True))
    return [item for item, fold in pairs if fold != held_out], [item for item, fold in pairs if fold == held_out]


def _scores_path(folder: Path, fold: int) -> Path:
    return folder / FOLDS / str(fold) / "scores.json.gz"


def _read_scores(path: Path) -> list[np.ndarray]:
    try:
        return [np.array(scores, dtype=np.float64) for scores in json.loads(gzip.decompress(path.read_bytes()))]
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error


def _load_model(folder: Path, config: RelevanceConfig) -> RelevanceModel:
    from pipeline.relevance.model import RelevanceModel  # torch is costly to import

    return RelevanceModel.load(folder, config)


def _log(path: Path | None, job: _Job) -> JsonLinesLog | None:
    if path is None:
        return None
    from pipeline.training import JsonLinesLog  # imports torch

    return JsonLinesLog(path, stage="relevance", model=job.config.name, fold=job.fold)


def _digest(articles: Sequence[ArticlePairs]) -> str:
    digest = hashlib.sha256()
    for article in articles:
        digest.update(repr((article.news_id, article.text, article.title)).encode("utf-8", "surrogatepass"))
        for part in (article.bounds, article.pieces, article.offsets, article.weights, article.is_core):
            digest.update(repr(part.shape).encode() + part.tobytes())
    return digest.hexdigest()
