"""The matcher as a stage: one model per fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pipeline.artifacts import stage_key
from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.pairs import ArticlePairs
from pipeline.entities.relevance.tokens import read_stopwords
from pipeline.errors import DataError
from pipeline.registry import MATCHERS, unknown_name
from pipeline.runtime.fold_task import FoldTask
from pipeline.runtime.fold_training import FoldStage, digest_of
from pipeline.runtime.trainings import TrainingMap, train_here

if TYPE_CHECKING:
    from pipeline.entities.relevance.model import RelevanceModel

logger = logging.getLogger(__name__)


class RelevanceStage(FoldStage[ArticlePairs, "RelevanceModel", np.ndarray]):
    """Scores the candidates of articles against their titles.

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

    def fit(
        self,
        articles: Sequence[ArticlePairs],
        folds: Sequence[int],
        *,
        folder: Path,
        workers: int = 1,
        final: bool = True,
        training_map: TrainingMap = train_here,
    ) -> Self:
        """Train out-of-fold and on all, ``workers`` models at a time.

        Args:
            articles: the training articles. Those without a core entity among their candidates are scored, but take
                no part in training.
            folds: the fold of each.
            folder: of the stage in the run.
            workers: trainings at a time.
            final: whether the model on all articles is wanted; without it ``predict`` cannot be called.
            training_map: runs the trainings.

        Raises:
            DataError: the articles of all folds but one have no core entity among their candidates, or the file of
                stopwords cannot be read.
        """
        stopwords = read_stopwords(self.config.stopwords)
        base_key = stage_key(asdict(self.config), self.seed, digest_of(_facts(articles)), list(folds), stopwords)
        task = _RelevanceTask(self.seed, base_key, self.log, self.config, stopwords)
        self.train(task, articles, folds, folder=folder, workers=workers, final=final, training_map=training_map)
        self.oof_auc_ = mean_auc(self.oof_, [article.is_core for article in articles])
        logger.info("relevance %s: out-of-fold AUC within an article %.4f", self.config.name, self.oof_auc_)
        return self

    def predict(self, articles: Sequence[ArticlePairs]) -> list[np.ndarray]:
        """Return the scores of each article's candidates, float64 (n_candidates,), 0 to 1."""
        return self.model_.predict(articles)

    def read_model(self, folder: Path) -> RelevanceModel:
        """Read the model that predicts.

        Raises:
            ArtifactError: it is missing or damaged, or does not fit the options.
        """
        from pipeline.entities.relevance.model import RelevanceModel  # torch is costly to import

        return RelevanceModel.load(folder, self.config)

    @classmethod
    def load(cls, folder: Path, config: RelevanceConfig, *, seed: int) -> Self:
        """Read what ``fit`` wrote; see ``read_model``."""
        return cls(config, seed=seed).restore(folder)


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
class _RelevanceTask(FoldTask[ArticlePairs, "RelevanceModel", np.ndarray]):
    """A matcher that learns from the articles with a core entity among their candidates."""

    stage: ClassVar[str] = "relevance"
    results_file: ClassVar[str] = "scores.json.gz"

    config: RelevanceConfig
    stopwords: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"relevance/{self.config.name}"

    def select(self, items: list[ArticlePairs]) -> list[ArticlePairs]:
        chosen = [article for article in items if article.is_core.any()]
        if not chosen:
            raise DataError("no training article has a core entity among its candidates: nothing to pair")
        return chosen

    def fit(self, items: list[ArticlePairs], fold: int | None) -> RelevanceModel:
        from pipeline.entities.relevance.estimator import MatcherModel
        from pipeline.entities.relevance.model import RelevanceModel

        seed, log = self.seed_of(fold), self.epochs_of(fold)
        matcher = MatcherModel(self.config, seed=seed, log=log, stopwords=self.stopwords)
        return RelevanceModel(matcher).fit(items)

    def predict(self, model: RelevanceModel, items: list[ArticlePairs]) -> list[Any]:
        return [scores.tolist() for scores in model.predict(items)]

    def read(self, value: Any) -> np.ndarray:
        return np.array(value, dtype=np.float64)


def _facts(articles: Sequence[ArticlePairs]) -> Iterator[object]:
    """Yield all that training reads of the articles."""
    for article in articles:
        yield article.news_id, article.text, article.title
        for part in (article.bounds, article.pieces, article.offsets, article.weights, article.is_core):
            yield part.shape
            yield part.tobytes()
