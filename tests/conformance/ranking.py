"""Kinds ranker_groups and ranker_features: what a ranking objective is given, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import lightgbm
import numpy as np

from pipeline.config import RerankConfig, load_config
from pipeline.entities.features import FeatureTable, FoldedKeyCounts
from pipeline.entities.features.extract import static_features, with_fitted
from pipeline.entities.rerank import BoostedTrees, Calibrator
from pipeline.entities.rerank.trees import Labelled
from pipeline.errors import PipelineError
from pipeline.text import Document, default_segmenter, match_key
from tests.support.located import located

from .framework import Adapter, CaseError, Check, Given, Tools, article_of, equals, mentions_all

# --- ranker_groups


@dataclass(frozen=True)
class Groups:
    """Rows of several articles in the order in which a ranking objective takes them."""

    rows: list[Mapping[str, Any]]
    order: list[int]
    groups: list[tuple[str, int]]
    empty: list[str]

    @property
    def ids(self) -> list[str]:
        """Article of each row, in the new order."""
        return [self.rows[row]["newsId"] for row in self.order]


def ranker_groups(given: Given, tools: Tools) -> Groups:
    """Train a ranking objective on a table of the articles, its rows numbered, and note what LightGBM is given."""
    rows = given["rows"]
    articles = given.get("articles") or list(dict.fromkeys(row["newsId"] for row in rows))
    if unknown := {row["newsId"] for row in rows} - set(articles):
        raise CaseError(f"rows of articles {sorted(unknown)}, which are not listed")
    numbers = [[number for number, row in enumerate(rows) if row["newsId"] == news_id] for news_id in articles]
    table = FeatureTable(
        names=["row"],
        news_ids=articles,
        keys=[[rows[number]["cand"] for number in of_article] for of_article in numbers],
        firsts=[np.arange(len(of_article)) for of_article in numbers],
        matrices=[np.array(of_article, dtype=np.float32).reshape(-1, 1) for of_article in numbers],
        labels=[(np.arange(len(of_article)) == 0).astype(np.float32) for of_article in numbers],
        n_gold=[min(len(of_article), 1) for of_article in numbers],
    )
    ranker = _NotingRanker(load_config(preset="tiny", overrides=OF_GROUPS).rerank, seed=7)
    ranker.fit(table.matrices, table.labels, table.names)
    with_rows = [news_id for news_id, keys in zip(table.news_ids, table.keys, strict=True) if keys]
    return Groups(
        rows,
        ranker.order,
        list(zip(with_rows, ranker.sizes, strict=True)),
        [news_id for news_id in articles if news_id not in with_rows],
    )


OF_GROUPS = ["rerank.objective=lambdarank", "rerank.min_child_samples=1", "rerank.n_hard_negatives=0"]


class _NotingRanker(BoostedTrees):
    """Keeps the first column of the rows and the sizes of the groups that its trees are trained on."""

    def _dataset(self, articles: Sequence[Labelled]) -> lightgbm.Dataset:
        data = super()._dataset(articles)
        data.free_raw_data = False  # it is built anew with the options of the trees
        data.construct()
        self.order = np.concatenate([matrix[:, 0] for matrix, _ in articles]).astype(int).tolist()
        self.sizes = np.asarray(data.get_group()).tolist()
        return data


def _contiguous(found: Groups) -> bool:
    return [(news_id, len(list(rows))) for news_id, rows in groupby(found.ids)] == found.groups


def _groups(found: Groups, wanted: Any) -> None:
    assert [list(group) for group in found.groups] == wanted
    assert _contiguous(found)


RANKER_GROUPS = Adapter(
    ranker_groups,
    {
        "groups": _groups,
        "group_sizes": equals(lambda found: [size for _, size in found.groups]),
        "sum_equals_rows": equals(lambda found: sum(size for _, size in found.groups)),
        "zero_candidate_articles": equals(lambda found: found.empty),
        "no_zero_group": equals(lambda found: all(size for _, size in found.groups)),
        "contiguous": equals(_contiguous),
        "row_order": equals(lambda found: found.order),
        "stable": equals(
            lambda found: all(a < b for a, b, same in _neighbours(found) if same),
        ),
    },
)


def _neighbours(found: Groups) -> list[tuple[int, int, bool]]:
    ids = found.ids
    return [(a, b, ids[n] == ids[n + 1]) for n, (a, b) in enumerate(zip(found.order, found.order[1:], strict=False))]


# --- ranker_features


@dataclass
class Features:
    """Columns of candidates by name, or scores of a small ranker."""

    n_rows: int = 0
    scores: np.ndarray | None = None
    probs: np.ndarray | None = None
    scores_as_missing: np.ndarray | None = None
    """Scores of the same rows with NaN in place of every infinity."""
    columns: dict[str, dict[str, float]] = field(default_factory=dict)
    message: str | None = None
    exit_code: int = 0


def ranker_features(given: Given, tools: Tools) -> Features:
    """Describe candidates of an article, or train a ranker on given numbers and score others."""
    if any(key in given for key in ("article", "raw_line")):
        return _describe(given)
    found = Features()
    try:
        options = [f"rerank.{name}={value}" for name, value in given.first("params", "options", default={}).items()]
        config = load_config(preset="tiny", overrides=["rerank.min_child_samples=1", *options]).rerank
        if "train_features" in given:
            _train_and_score(given, config, found)
    except PipelineError as error:
        found.message, found.exit_code = error.message, error.exit_code
    return found


def _numbers(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return a matrix; null and "nan" are missing values, "inf" and "-inf" infinities."""
    return np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows], dtype=np.float64)


def _train_and_score(given: Given, config: RerankConfig, found: Features) -> None:
    train, matrix = _numbers(given["train_features"]), _numbers(given["predict_features"])
    names = given.first("train_columns", "feature_names", "columns", default=[f"f{n}" for n in range(train.shape[1])])
    labels = np.array(given.get("labels") or [row % 2 for row in range(len(train))], dtype=np.float32)
    sizes = given.first("groups", default=[len(train)])
    bounds = np.cumsum(sizes)[:-1]
    ranker = BoostedTrees(config, seed=given.get("seed", 7))
    ranker.fit(np.split(train, bounds), np.split(labels, bounds), names)
    ranker.check_features(given.get("predict_columns", names))
    found.n_rows = len(matrix)
    found.scores = ranker.score(matrix)
    found.probs = Calibrator((1.0, 0.0, 0.0), 0.0).probs(found.scores)
    found.scores_as_missing = ranker.score(np.where(np.isinf(matrix), np.nan, matrix))


def _describe(given: Given) -> Features:
    """Compute every column of the named candidates; the fitted ones rest on other articles, as in training."""
    segmenter = default_segmenter()
    document = Document.of(article_of(given))
    names = given.first("candidates", "entities")
    found = located(document, [match_key(name) for name in names])
    counts = FoldedKeyCounts()
    for number, other in enumerate(given.get("corpus", [{"title": "", "content": "另一篇"}])):
        text = Document.of(article_of(Given({"article": {"newsId": f"other {number}", **other}}))).text
        counts.add(0, [key for key in found.keys if key in text], [])
    static = static_features(found, segmenter)
    smoothing = RerankConfig().hit_rate_smoothing
    columns, matrix = with_fitted(static.names, static.matrix, found.keys, counts.without(None), smoothing)
    rows = {name: found.keys.index(match_key(name)) for name in names if match_key(name) in found.keys}
    values = {
        column: {name: float(matrix[row, index]) for name, row in rows.items()} for index, column in enumerate(columns)
    }
    return Features(n_rows=len(found), columns=values)


def _column(found: Features, name: str) -> dict[str, float]:
    """Return the values of a feature, named with its group or without."""
    matching = [column for column in found.columns if name in (column, column.split(".", 1)[1])]
    if len(matching) != 1:
        raise CaseError(f"feature {name!r} is not understood (have: {', '.join(found.columns)})")
    return found.columns[matching[0]]


def _all_nonzero(found: Features, wanted: Any) -> None:
    for name in wanted:
        assert _column(found, name)
        assert all(_column(found, name).values()), name


def _all_finite(found: Features, wanted: Any) -> None:
    columns = list(found.columns) if isinstance(wanted, bool) else wanted
    finite = all(np.isfinite(list(_column(found, name).values())).all() for name in columns)
    assert finite == (wanted if isinstance(wanted, bool) else True)


def _finite_scores(found: Features) -> bool:
    assert found.message is None, found.message
    one_a_row = len(found.scores) == len(found.probs) == found.n_rows
    return bool(one_a_row and np.isfinite(found.scores).all() and np.isfinite(found.probs).all())


def _feature_values(name: str, values: Mapping[str, Any]) -> Check | None:
    """Take any other key for the name of a feature, where the case describes candidates."""
    if "article" not in values and "raw_line" not in values:
        return None

    def check(found: Features, wanted: Any) -> None:
        column = _column(found, name)
        assert {key: column.get(key) for key in wanted} == {key: float(np.float32(v)) for key, v in wanted.items()}

    return check


RANKER_FEATURES = Adapter(
    ranker_features,
    {
        "finite_scores": equals(_finite_scores),
        **dict.fromkeys(("n_scores", "rows", "n_rows"), equals(lambda found: found.n_rows)),
        "no_row_dropped": equals(lambda found: len(found.scores) == found.n_rows),
        **dict.fromkeys(
            ("infinite_same_as_missing", "inf_same_as_missing"),
            equals(lambda found: np.array_equal(found.scores, found.scores_as_missing)),
        ),
        "all_nonzero": _all_nonzero,
        "all_finite": _all_finite,
        "message_mentions": mentions_all(lambda found: found.message),
        **dict.fromkeys(("raises", "error", "refused"), equals(lambda found: found.message is not None)),
        "exit_code": equals(lambda found: found.exit_code),
    },
    _feature_values,
)
