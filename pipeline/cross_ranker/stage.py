"""The cross-ranker as a stage: one model a fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from pipeline.artifacts import atomic_write_bytes, atomic_write_json, read_json, stage_key
from pipeline.config import Config, CrossConfig
from pipeline.cross_ranker.inputs import CandidateList
from pipeline.errors import ArtifactError
from pipeline.parallel import deaf_children

if TYPE_CHECKING:
    from pipeline.cross_ranker.model import CrossModel

MODEL, FOLDS, DONE = "model", "folds", "done.json"
"""Names in the stage's folder."""

COMBINING = ("combine", "n_estimators")
"""Options that change nothing in the networks."""


@dataclass(frozen=True)
class TrainingList:
    """The candidates of a training article: the best of the first reranking, and every gold one beyond them."""

    article: CandidateList
    """The ``n_best`` best first, in the order of their ranks."""
    labels: np.ndarray
    """float32 (n_candidates,): 1 for gold entities."""
    n_best: int

    @property
    def best(self) -> CandidateList:
        """The candidates that are scored: chosen without a look at the labels."""
        article = self.article
        return CandidateList(article.text, article.content_start, article.keys[: self.n_best])


class CrossStage:
    """Scores each article's best candidates.

    ``fit`` trains one model for each fold, which scores the articles of that fold, and one on all articles, which
    predicts. Each training is a process of its own on one thread, so the scores do not depend on how many run at a
    time; each is saved once done, and not repeated when ``fit`` is called again with the same data and options.

    Learnt: ``oof_``, float32 (n_best,) log odds of each training article's best candidates, from the model that did
    not see its fold; ``model_``.

    Args:
        config: options of the run; ``config.cross.name`` is not "none".
        log: file that gets a JSON line for each epoch.
    """

    def __init__(self, config: Config, *, log: Path | None = None) -> None:
        self.config = config
        self.log = log

    def fit(self, lists: Sequence[TrainingList], folds: Sequence[int], *, folder: Path) -> Self:
        """Train out-of-fold and on all, ``config.workers`` models at a time.

        Args:
            lists: the training articles.
            folds: the fold of each.
            folder: of the stage in the run.

        Raises:
            DataError: no article has a gold entity among its candidates.
            ArtifactError: the encoder cannot be had.
        """
        if len(folds) != len(lists):
            raise ValueError(f"{len(lists)} articles but {len(folds)} folds")
        options = {name: value for name, value in asdict(self.config.cross).items() if name not in COMBINING}
        base = stage_key(options, self.config.seed, _digest(lists), list(folds))
        jobs = []
        for fold in (*sorted(set(folds)), None):
            job = _Job(self.config.cross, self.config.seed, fold, folder, base, self.log)
            if not job.is_done():
                rest = [part for part, other in zip(lists, folds, strict=True) if other != fold]
                held_out = [part.best for part, other in zip(lists, folds, strict=True) if other == fold]
                jobs.append(delayed(_run)(job, rest, held_out))
        with deaf_children():
            runs = Parallel(n_jobs=min(self.config.workers, max(1, len(jobs))), return_as="generator")(jobs)
        for _ in tqdm(runs, desc="cross", total=len(jobs), unit="model", disable=None):
            pass
        self.oof_: list[np.ndarray] = [np.zeros(0, np.float32) for _ in lists]
        for fold in sorted(set(folds)):
            held_out_rows = [index for index, other in enumerate(folds) if other == fold]
            for index, scores in zip(held_out_rows, _read_scores(_scores_path(folder, fold)), strict=True):
                self.oof_[index] = scores
        self.model_ = _load_model(folder / MODEL)
        return self

    def predict(self, articles: Sequence[CandidateList]) -> list[np.ndarray]:
        """Return the log odds of each article's candidates: float32 (n_candidates,)."""
        return self.model_.predict(articles)

    def save(self, folder: Path) -> None:
        """Write the model that predicts; ``fit`` has done so in its own folder."""
        self.model_.save(folder / MODEL)

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read the model that predicts.

        Raises:
            ArtifactError: it is missing or damaged.
        """
        stage = cls(config)
        stage.model_ = _load_model(folder / MODEL)
        return stage


@dataclass(frozen=True)
class _Job:
    """One training: without a fold, or (None) on all articles."""

    config: CrossConfig
    seed: int
    fold: int | None
    folder: Path
    base_key: str
    log: Path | None

    @property
    def key(self) -> str:
        return stage_key(self.base_key, self.fold)

    @property
    def marker(self) -> Path:
        """Written last: says what the training rested on."""
        return self.folder / (MODEL if self.fold is None else f"{FOLDS}/{self.fold}") / DONE

    def is_done(self) -> bool:
        return self.marker.is_file() and read_json(self.marker) == {"key": self.key}


def _run(job: _Job, lists: Sequence[TrainingList], held_out: Sequence[CandidateList]) -> None:
    from pipeline.cross_ranker.model import CrossModel
    from pipeline.training import JsonLinesLog

    seed = zlib.crc32(f"{job.seed}/cross/{job.fold}".encode())
    log = JsonLinesLog(job.log, stage="cross", fold=job.fold) if job.log is not None else None
    model = CrossModel(job.config, seed=seed, log=log)
    model.fit([part.article for part in lists], [part.labels for part in lists])
    if job.fold is None:
        model.save(job.folder / MODEL)
    else:
        content = json.dumps([scores.tolist() for scores in model.predict(held_out)])
        atomic_write_bytes(_scores_path(job.folder, job.fold), gzip.compress(content.encode(), 6, mtime=0))
    atomic_write_json(job.marker, {"key": job.key})


def _scores_path(folder: Path, fold: int) -> Path:
    return folder / FOLDS / str(fold) / "scores.json.gz"


def _read_scores(path: Path) -> list[np.ndarray]:
    try:
        return [np.array(scores, dtype=np.float32) for scores in json.loads(gzip.decompress(path.read_bytes()))]
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error


def _load_model(folder: Path) -> CrossModel:
    from pipeline.cross_ranker.model import CrossModel  # torch and transformers are costly to import

    return CrossModel.load(folder)


def _digest(lists: Sequence[TrainingList]) -> str:
    digest = hashlib.sha256()
    for part in lists:
        article = part.article
        facts = (article.text, article.content_start, article.keys, part.labels.tolist(), part.n_best)
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
