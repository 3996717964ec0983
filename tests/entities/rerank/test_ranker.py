"""LightGBM behind our own rules: learns a planted signal, refuses other columns, and is the same everywhere."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import RerankConfig
from pipeline.entities.rerank import Ranker, group_rows
from pipeline.entities.rerank.ranker import clean_matrix
from pipeline.errors import ArtifactError

NAMES = ["noise_a", "signal", "noise_b", "noise_c"]
SIGNAL = 1
Data = tuple[list[np.ndarray], list[np.ndarray]]


def config(objective: str = "binary", **options: float) -> RerankConfig:
    small = {"n_estimators": 25, "learning_rate": 0.2, "num_leaves": 7, "min_child_samples": 5, "feature_fraction": 1.0}
    return RerankConfig(objective=objective, **{"n_bags": 1, **small, **options})  # type: ignore[arg-type]


def make_ranking(n_articles: int, seed: int) -> Data:
    """Articles of 5 to 15 candidates; the one or two with the largest signal are gold. Some values are missing."""
    rng = np.random.default_rng(seed)
    matrices, labels = [], []
    for _ in range(n_articles):
        matrix = rng.normal(size=(rng.integers(5, 16), len(NAMES))).astype(np.float32)
        gold = np.argsort(-matrix[:, SIGNAL])[: rng.integers(1, 3)]
        matrix[rng.random(matrix.shape) < 0.05] = np.nan
        matrices.append(matrix)
        labels.append(np.isin(np.arange(len(matrix)), gold).astype(np.float32))
    return matrices, labels


TRAIN, HELD_OUT = make_ranking(120, 0), make_ranking(60, 1)


def top_1(ranker: Ranker, data: Data) -> float:
    return float(np.mean([label[int(np.argmax(ranker.score(matrix)))] for matrix, label in zip(*data, strict=True)]))


def scores(ranker: Ranker) -> np.ndarray:
    return np.concatenate([ranker.score(matrix) for matrix in HELD_OUT[0]])


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_learns_a_planted_signal(objective: str) -> None:
    ranker = Ranker(config(objective), seed=7).fit(*TRAIN, NAMES)
    assert top_1(ranker, HELD_OUT) > 0.7  # by chance: about 0.15
    for kind in ("gain", "split"):
        importance = ranker.importance(kind)  # type: ignore[arg-type]
        assert next(iter(importance)) == "signal"
        assert set(importance) == set(NAMES)
        assert list(importance.values()) == sorted(importance.values(), reverse=True)


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_learns_as_well_from_few_negatives(objective: str) -> None:
    everything = Ranker(config(objective, n_hard_negatives=0), seed=7).fit(*TRAIN, NAMES)
    few = Ranker(config(objective, n_hard_negatives=2, other_negatives=0.2), seed=7).fit(*TRAIN, NAMES)
    assert top_1(few, HELD_OUT) > top_1(everything, HELD_OUT) - 0.1
    assert not np.array_equal(scores(few), scores(everything))


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_same_seed_same_scores(objective: str) -> None:
    one, two = (scores(Ranker(config(objective), seed=7).fit(*TRAIN, NAMES)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    other = scores(Ranker(config(objective), seed=8).fit(*TRAIN, NAMES))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_order_of_rows_and_articles_in_the_file_is_immaterial(objective: str) -> None:
    """Rows come in any order; brought together and sorted by id they train the same model."""

    def fit(order: Sequence[int]) -> np.ndarray:
        rows = [(f"a{index:03}", row) for index in order for row in range(len(TRAIN[1][index]))]
        random.Random(len(rows) + order[0]).shuffle(rows)
        rows.sort(key=lambda pair: pair[1])  # articles interleaved, each article's own rows in order
        place, groups, empty = group_rows([news_id for news_id, _ in rows], sorted({news_id for news_id, _ in rows}))
        assert not empty
        stacked = [rows[index] for index in place]
        matrices, labels, start = [], [], 0
        for news_id, size in groups:
            part, start = stacked[start : start + size], start + size
            assert {name for name, _ in part} == {news_id}
            index = int(news_id[1:])
            matrices.append(TRAIN[0][index][[row for _, row in part]])
            labels.append(TRAIN[1][index][[row for _, row in part]])
        return scores(Ranker(config(objective), seed=7).fit(matrices, labels, NAMES))

    in_order = list(range(len(TRAIN[0])))
    np.testing.assert_array_equal(fit(in_order), fit(in_order[::-1]))
    np.testing.assert_array_equal(fit(in_order), scores(Ranker(config(objective), seed=7).fit(*TRAIN, NAMES)))


def test_infinities_count_as_missing() -> None:
    def spoilt(value: float) -> Data:
        rng = np.random.default_rng(3)
        return [np.where(rng.random(matrix.shape) < 0.2, value, matrix) for matrix in TRAIN[0]], TRAIN[1]

    rankers = [Ranker(config(), seed=7).fit(*spoilt(value), NAMES) for value in (np.nan, np.inf, -np.inf)]
    for ranker in rankers:
        np.testing.assert_array_equal(scores(ranker), scores(rankers[0]))
    matrix = HELD_OUT[0][0].copy()
    matrix[::2] = np.nan
    missing = rankers[0].score(matrix)
    for value in (np.inf, -np.inf):
        matrix[::2] = value
        np.testing.assert_array_equal(rankers[0].score(matrix), missing)


def test_clean_matrix() -> None:
    raw = np.array([[1.0, np.inf], [-np.inf, np.nan]])
    cleaned = clean_matrix(raw)
    np.testing.assert_array_equal(cleaned, np.array([[1, np.nan], [np.nan, np.nan]], dtype=np.float32))
    assert cleaned.dtype == np.float32
    assert np.isinf(raw).any()  # the caller's matrix is left alone


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_a_row_is_scored_without_regard_to_its_neighbours(objective: str) -> None:
    ranker = Ranker(config(objective), seed=7).fit(*TRAIN, NAMES)
    matrix = HELD_OUT[0][0]
    alone = np.concatenate([ranker.score(matrix[row : row + 1]) for row in range(len(matrix))])
    np.testing.assert_array_equal(ranker.score(matrix), alone)
    assert ranker.score(matrix).dtype == np.float64


def test_no_candidates() -> None:
    with_empty = [*TRAIN[0], np.empty((0, len(NAMES)), np.float32)], [*TRAIN[1], np.empty(0, np.float32)]
    ranker = Ranker(config("lambdarank"), seed=7).fit(*with_empty, NAMES)
    np.testing.assert_array_equal(scores(ranker), scores(Ranker(config("lambdarank"), seed=7).fit(*TRAIN, NAMES)))
    assert ranker.score(np.empty((0, len(NAMES)))).shape == (0,)


def test_bags_are_averaged() -> None:
    ranker = Ranker(config(n_bags=3), seed=7).fit(*TRAIN, NAMES)
    matrix = HELD_OUT[0][0]
    single = [booster.predict(clean_matrix(matrix), raw_score=True) for booster in ranker.boosters_]
    assert len(single) == 3
    assert not np.array_equal(single[0], single[1])
    np.testing.assert_allclose(ranker.score(matrix), sum(single) / 3, rtol=1e-12)


def test_fitting_again_forgets_the_first_fit() -> None:
    ranker = Ranker(config(), seed=7).fit(*HELD_OUT, NAMES)
    fresh = scores(Ranker(config(), seed=7).fit(*TRAIN, NAMES))
    np.testing.assert_array_equal(scores(ranker.fit(*TRAIN, NAMES)), fresh)


# --- columns


def test_other_columns_are_refused() -> None:
    ranker = Ranker(config(n_estimators=2), seed=7).fit(*TRAIN, NAMES)
    ranker.check_features(NAMES)
    with pytest.raises(ArtifactError, match="'signal' was trained, 'noise_b' given"):
        ranker.check_features(["noise_a", "noise_b", "signal", "noise_c"])
    for names in (NAMES[:-1], [*NAMES, "more"], []):
        with pytest.raises(ArtifactError, match=r"features differ .* trained on: their number"):
            ranker.check_features(names)


# --- files


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_save_and_load_score_the_same(objective: str, tmp_path: Path) -> None:
    options = config(objective, n_bags=2)
    ranker = Ranker(options, seed=7).fit(*TRAIN, NAMES)
    ranker.save(tmp_path)
    again = Ranker.load(tmp_path, options, seed=7)
    np.testing.assert_array_equal(scores(ranker), scores(again))
    assert again.importance() == ranker.importance()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "features.json",
        "importance.json",
        "model-1.txt",
        "model.txt",
    ]
    assert json.loads((tmp_path / "features.json").read_text()) == NAMES


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranker")
    Ranker(config(n_estimators=2), seed=7).fit(*TRAIN, NAMES).save(folder)
    return folder


def copied(saved: Path, folder: Path) -> Path:
    for path in saved.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("name", ["features.json", "model.txt"])
def test_missing_files_are_named(saved: Path, tmp_path: Path, name: str) -> None:
    (copied(saved, tmp_path) / name).unlink()
    with pytest.raises(ArtifactError, match=rf"{name}: cannot be read"):
        Ranker.load(tmp_path, config(), seed=7)


def test_a_missing_bag_is_named(saved: Path) -> None:
    with pytest.raises(ArtifactError, match=r"model-1\.txt: cannot be read"):
        Ranker.load(saved, config(n_bags=2), seed=7)


def test_reordered_feature_names_are_refused(saved: Path, tmp_path: Path) -> None:
    (copied(saved, tmp_path) / "features.json").write_text(json.dumps(NAMES[::-1]))
    with pytest.raises(ArtifactError, match=r"model\.txt: its features are not those of .*features\.json"):
        Ranker.load(tmp_path, config(), seed=7)


# --- grouping


@given(st.permutations(["a", "b", "c", "d"]), st.lists(st.sampled_from("abc"), max_size=20))
def test_group_rows_agrees_with_a_double_loop(articles: list[str], news_ids: list[str]) -> None:
    order, groups, empty = group_rows(news_ids, articles)
    assert order.tolist() == [row for article in articles for row, news_id in enumerate(news_ids) if news_id == article]
    assert groups == [(article, news_ids.count(article)) for article in articles if article in news_ids]
    assert empty == [article for article in articles if article not in news_ids]


def test_group_rows_refuses_rows_of_unknown_articles() -> None:
    with pytest.raises(KeyError, match="zz"):
        group_rows(["a", "zz"], ["a"])
