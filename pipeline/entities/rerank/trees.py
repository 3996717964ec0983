"""LightGBM over the candidates of an article."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.artifacts import atomic_write_json, atomic_write_text, read_json
from pipeline.config import RerankConfig
from pipeline.entities.rerank.negatives import drawn, training_rows
from pipeline.entities.rerank.tree_scorer import TreeScorer
from pipeline.entities.rerank.tree_text import checked_tree_text, feature_names
from pipeline.errors import ArtifactError
from pipeline.runtime.parallel import chunked

if TYPE_CHECKING:
    import lightgbm as lgb

MINING_TREES, MINING_RATE = 120, 0.1
"""Of the small model that says which negatives are hard."""
SCORED_AT_ONCE = 256
"""Articles whose rows it scores at once."""

Labelled = tuple[np.ndarray, np.ndarray]
"""The candidates of an article: float32 (n_candidates, n_features), and 1 for gold ones, float32 (n_candidates,)."""


def clean_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix with infinities as NaN, which every split sends to its default side."""
    matrix = np.asarray(matrix, dtype=np.float32)
    return np.where(np.isinf(matrix), np.float32(np.nan), matrix) if np.isinf(matrix).any() else matrix


class BoostedTrees:
    """Gradient-boosted trees, averaged over ``n_bags`` seeds.

    With ``n_hard_negatives`` a small model is fitted first, on all rows or those of ``mining_articles``; its scores of
    all rows decide which negatives the trees learn from. No other article takes part in that, so what is held out stays
    unseen.

    Training is single-threaded: results do not depend on threads, and folds run side by side instead.
    """

    _texts: list[str]
    """Of the trees, as they were read."""
    _scorers: list[TreeScorer]

    def __init__(self, config: RerankConfig, *, seed: int) -> None:
        self.config = config
        self.seed = seed

    def fit(self, matrices: Sequence[np.ndarray], labels: Sequence[np.ndarray], names: Sequence[str]) -> BoostedTrees:
        """Fit on the candidates of several articles, one matrix and one 0/1 vector each.

        The matrices are read where they lie, one after the other: they may be parts of a memory map.
        """
        import lightgbm as lgb  # costs a second that prediction need not pay

        articles = [(clean_matrix(matrix), label) for matrix, label in zip(matrices, labels, strict=True) if len(label)]
        self.names_ = list(names)
        articles = drawn(articles, self.config.train_articles, seed=self.seed)
        if self.config.n_hard_negatives:
            articles = self._with_hard_negatives(articles)
        data = self._dataset(articles)
        self.boosters_ = [
            lgb.train(self._parameters(bag), data, num_boost_round=self.config.n_estimators)
            for bag in range(self.config.n_bags)
        ]
        self._scorers = [TreeScorer(booster.model_to_string()) for booster in self.boosters_]
        return self

    def _with_hard_negatives(self, articles: Sequence[Labelled]) -> list[Labelled]:
        """Return the rows that the trees learn from, by the scores of a small model of all rows."""
        import lightgbm as lgb

        options = {**self._parameters(0), "learning_rate": MINING_RATE, "extra_trees": False}
        some = drawn(articles, self.config.mining_articles, seed=self.seed)
        miner = lgb.train(options, self._dataset(some), num_boost_round=MINING_TREES)
        scores = [
            np.asarray(miner.predict(np.vstack(block), raw_score=True, num_threads=1))
            for block in chunked((matrix for matrix, _ in articles), SCORED_AT_ONCE)
        ]
        rows, sizes = training_rows(
            np.concatenate(scores),
            np.concatenate([label for _, label in articles]),
            [len(label) for _, label in articles],
            n_hard=self.config.n_hard_negatives,
            share=self.config.other_negatives,
            seed=self.seed,
        )
        begins = np.cumsum([0, *(len(label) for _, label in articles)])[:-1].tolist()
        kept = np.split(rows, np.cumsum(sizes)[:-1])
        return [
            (matrix[part - begin], label[part - begin])
            for (matrix, label), part, begin in zip(articles, kept, begins, strict=True)
            if len(part)
        ]

    def _dataset(self, articles: Sequence[Labelled]) -> lgb.Dataset:
        import lightgbm as lgb

        return lgb.Dataset(
            [matrix for matrix, _ in articles],
            label=np.concatenate([label for _, label in articles]),
            group=[len(label) for _, label in articles] if self.config.objective != "binary" else None,
            feature_name=self.names_,
            params={"verbose": -1, "num_threads": 1},
        )

    def _parameters(self, bag: int) -> dict[str, object]:
        config = self.config
        return {
            "objective": config.objective,
            "learning_rate": config.learning_rate,
            "num_leaves": config.num_leaves,
            "min_data_in_leaf": config.min_child_samples,
            "feature_fraction": config.feature_fraction,
            "bagging_fraction": config.bagging_fraction,
            "bagging_freq": 1,
            "lambda_l2": config.reg_lambda,
            "extra_trees": config.extra_trees,
            "seed": self.seed + 1000 * bag,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 1,
            "verbose": -1,
        }

    def score(self, matrix: np.ndarray) -> np.ndarray:
        """Return raw scores (log odds, or ranking scores), averaged over the bags: float64 (n_rows,)."""
        if not len(matrix):
            return np.zeros(0)
        cleaned = clean_matrix(matrix)
        scores = [score(cleaned) for score in self._scorers]
        return np.mean(scores, axis=0)

    def contributions(self, matrix: np.ndarray) -> np.ndarray:
        """Return the SHAP values of each feature, averaged over the bags: float64 (n_rows, n_features).

        With the trees' expected score they sum to ``score`` (Lundberg et al., arXiv:1802.03888; LightGBM's own code).
        """
        if not len(matrix):
            return np.zeros((0, len(self.names_)))
        cleaned = clean_matrix(matrix)
        values = [booster.predict(cleaned, pred_contrib=True, num_threads=1) for booster in self.boosters_]
        return np.mean(values, axis=0)[:, :-1]

    def importance(self, kind: Literal["gain", "split"] = "gain") -> dict[str, float]:
        """Return each feature's total gain (or number of splits), the largest first."""
        totals = np.sum([booster.feature_importance(kind) for booster in self.boosters_], axis=0)
        pairs = zip(self.names_, totals.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))

    def save(self, folder: Path) -> None:
        """Write the trees in LightGBM's text format, and the feature names in order."""
        for bag, booster in enumerate(self.boosters_):
            atomic_write_text(folder / _model_name(bag), booster.model_to_string())
        atomic_write_json(folder / "features.json", self.names_)
        atomic_write_json(folder / "importance.json", self.importance())

    @classmethod
    def load(cls, folder: Path, config: RerankConfig, *, seed: int) -> BoostedTrees:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: a file is missing or damaged, or names other features than the trees.
        """
        ranker = cls(config, seed=seed)
        ranker.names_ = read_json(folder / "features.json")
        if not isinstance(ranker.names_, list) or not all(isinstance(name, str) for name in ranker.names_):
            raise ArtifactError(f"{folder / 'features.json'}: want a list of names")
        ranker._texts, ranker._scorers = [], []
        for bag in range(config.n_bags):
            path = folder / _model_name(bag)
            try:
                text = checked_tree_text(path.read_text(encoding="utf-8"), len(ranker.names_))
                ranker._scorers.append(TreeScorer(text))
            except (OSError, ValueError) as error:
                raise ArtifactError(f"{path}: cannot be read: {error}") from error
            if feature_names(text) != ranker.names_:
                raise ArtifactError(f"{path}: its features are not those of {folder / 'features.json'}")
            ranker._texts.append(text)
        return ranker

    @cached_property
    def boosters_(self) -> list[lgb.Booster]:
        """The trees as LightGBM has them, for all but scores; of a ranker that was loaded they are read when needed."""
        import lightgbm as lgb

        return [lgb.Booster(model_str=text) for text in self._texts]

    def check_features(self, names: Sequence[str]) -> None:
        """Refuse columns in another order or number than in training.

        Raises:
            ArtifactError: they differ; the first difference is named.
        """
        if list(names) != self.names_:
            differing = [(want, have) for want, have in zip(self.names_, names, strict=False) if want != have]
            detail = f"{differing[0][0]!r} was trained, {differing[0][1]!r} given" if differing else "their number"
            raise ArtifactError(f"features differ from those the reranker was trained on: {detail}")


def _model_name(bag: int) -> str:
    return "model.txt" if bag == 0 else f"model-{bag}.txt"
