"""The cross-ranker as a stage: one model per fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pipeline.artifacts import stage_key
from pipeline.config import Config, CrossConfig
from pipeline.entities.cross_ranker.inputs import CandidateList
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.fold_training import FoldStage, digest_of
from pipeline.runtime.trainings import TrainingMap, train_here

if TYPE_CHECKING:
    from pipeline.entities.cross_ranker.model import CrossModel

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


class CrossStage(FoldStage[TrainingList, "CrossModel", np.ndarray]):
    """Scores each article's best candidates.

    Learnt: ``oof_``, float32 (n_best,) log odds of each training article's best candidates, from the model that did
    not see its fold; ``model_``.

    Args:
        config: options of the run; ``config.cross.name`` is not "none".
        log: file that gets a JSON line for each epoch.
    """

    def __init__(self, config: Config, *, log: Path | None = None) -> None:
        self.config = config
        self.log = log

    def fit(
        self,
        lists: Sequence[TrainingList],
        folds: Sequence[int],
        *,
        folder: Path,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Train out-of-fold and on all, ``config.workers`` models at a time.

        Args:
            lists: the training articles.
            folds: the fold of each.
            folder: of the stage in the run.
            training_map: runs the trainings.

        Raises:
            DataError: no article has a gold entity among its candidates.
            ArtifactError: the encoder cannot be had.
        """
        options = {name: value for name, value in asdict(self.config.cross).items() if name not in COMBINING}
        base_key = stage_key(options, self.config.seed, digest_of(map(_facts, lists)), list(folds))
        task = _CrossTask(self.config.seed, base_key, self.log, self.config.cross)
        workers = self.config.workers
        return self.train(task, lists, folds, folder=folder, workers=workers, training_map=training_map)

    def predict(self, articles: Sequence[CandidateList]) -> list[np.ndarray]:
        """Return the log odds of each article's candidates: float32 (n_candidates,)."""
        return self.model_.predict(articles)

    def read_model(self, folder: Path) -> CrossModel:
        """Read the model that predicts.

        Raises:
            ArtifactError: it is missing or damaged.
        """
        from pipeline.entities.cross_ranker.model import CrossModel  # torch and transformers are costly to import

        return CrossModel.load(folder)

    @classmethod
    def load(cls, folder: Path, config: Config) -> Self:
        """Read what ``fit`` wrote; see ``read_model``."""
        return cls(config).restore(folder)


@dataclass(frozen=True)
class _CrossTask(FoldTask[TrainingList, "CrossModel", np.ndarray]):
    """A cross-ranker that learns from all candidates of a list, and scores the best."""

    stage: ClassVar[str] = "cross"
    results_file: ClassVar[str] = "scores.json.gz"

    config: CrossConfig

    def fit(self, items: list[TrainingList], fold: int | None) -> CrossModel:
        from pipeline.entities.cross_ranker.model import CrossModel

        model = CrossModel(self.config, seed=self.seed_of(fold), log=self.epochs_of(fold))
        return model.fit([part.article for part in items], [part.labels for part in items])

    def predict(self, model: CrossModel, items: list[TrainingList]) -> list[Any]:
        return [scores.tolist() for scores in model.predict([part.best for part in items])]

    def read(self, value: Any) -> np.ndarray:
        return np.array(value, dtype=np.float32)


def _facts(part: TrainingList) -> tuple[object, ...]:
    """Return all that training reads of a list."""
    article = part.article
    return (article.text, article.content_start, article.keys, part.labels.tolist(), part.n_best)
