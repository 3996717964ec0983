"""The matcher as a stage: one model a fold and one on all articles, each saved as soon as it is done."""

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pipeline.artifacts import stage_key
from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.pairs import ArticlePairs
from pipeline.errors import DataError
from pipeline.registry import MATCHERS, unknown_name
from pipeline.runtime.fold_training import MODEL, FoldTask, train_folds

if TYPE_CHECKING:
    from pipeline.entities.relevance.model import RelevanceModel

logger = logging.getLogger(__name__)


class RelevanceStage:
    """Scores the candidates of articles against their titles.

    ``fit`` trains one model for each fold, which scores the articles of that fold, and one on all articles, which
    predicts. Each training runs on one thread, in one of several processes, and is not repeated once it is done: see
    ``train_folds``.

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
    ) -> Self:
        """Train out-of-fold and on all, ``workers`` models at a time.

        Args:
            articles: the training articles. Those without a core entity among their candidates are scored, but take
                no part in training.
            folds: the fold of each.
            folder: of the stage in the run.
            workers: processes.
            final: whether the model on all articles is wanted; without it ``predict`` and ``save`` cannot be called.

        Raises:
            DataError: the articles of all folds but one have no core entity among their candidates.
        """
        base_key = stage_key(asdict(self.config), self.seed, _digest(articles), list(folds))
        task = _RelevanceTask(self.config, self.seed, base_key, self.log)
        self.oof_ = train_folds(task, articles, folds, folder=folder, workers=workers, final=final)
        self.oof_auc_ = mean_auc(self.oof_, [article.is_core for article in articles])
        logger.info("relevance %s: out-of-fold AUC within an article %.4f", self.config.name, self.oof_auc_)
        if final:
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
class _RelevanceTask(FoldTask[ArticlePairs, "RelevanceModel", np.ndarray]):
    """A matcher that learns from the articles with a core entity among their candidates."""

    name: ClassVar[str] = "relevance"
    results_file: ClassVar[str] = "scores.json.gz"

    config: RelevanceConfig
    seed: int
    base_key: str
    log: Path | None

    def key(self, fold: int | None) -> str:
        return stage_key(self.base_key, fold)

    def select(self, items: list[ArticlePairs]) -> list[ArticlePairs]:
        chosen = [article for article in items if article.is_core.any()]
        if not chosen:
            raise DataError("no training article has a core entity among its candidates: nothing to pair")
        return chosen

    def fit(self, items: list[ArticlePairs], fold: int | None) -> RelevanceModel:
        from pipeline.entities.relevance.model import RelevanceModel
        from pipeline.nn.loop import log_to

        seed = zlib.crc32(f"{self.seed}/relevance/{self.config.name}/{fold}".encode())
        log = log_to(self.log, stage="relevance", model=self.config.name, fold=fold)
        return RelevanceModel(self.config, seed=seed, log=log).fit(items)

    def predict(self, model: RelevanceModel, items: list[ArticlePairs]) -> list[Any]:
        return [scores.tolist() for scores in model.predict(items)]

    def read(self, value: Any) -> np.ndarray:
        return np.array(value, dtype=np.float64)


def _load_model(folder: Path, config: RelevanceConfig) -> RelevanceModel:
    from pipeline.entities.relevance.model import RelevanceModel  # torch is costly to import

    return RelevanceModel.load(folder, config)


def _digest(articles: Sequence[ArticlePairs]) -> str:
    digest = hashlib.sha256()
    for article in articles:
        digest.update(repr((article.news_id, article.text, article.title)).encode("utf-8", "surrogatepass"))
        for part in (article.bounds, article.pieces, article.offsets, article.weights, article.is_core):
            digest.update(repr(part.shape).encode() + part.tobytes())
    return digest.hexdigest()
