"""LightGBM behind our own rules: learns a planted signal, refuses other columns, and is the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from pipeline.config import RerankConfig
from pipeline.entities.rerank import BoostedTrees
from pipeline.entities.rerank.negatives import drawn
from pipeline.entities.rerank.tree_scorer import TreeScorer
from pipeline.entities.rerank.trees import clean_matrix
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


def top_1(ranker: BoostedTrees, data: Data) -> float:
    return float(np.mean([label[int(np.argmax(ranker.score(matrix)))] for matrix, label in zip(*data, strict=True)]))


def scores(ranker: BoostedTrees) -> np.ndarray:
    return np.concatenate([ranker.score(matrix) for matrix in HELD_OUT[0]])


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_learns_a_planted_signal(objective: str) -> None:
    ranker = BoostedTrees(config(objective), seed=7).fit(*TRAIN, NAMES)
    assert top_1(ranker, HELD_OUT) > 0.7  # by chance: about 0.15
    for kind in ("gain", "split"):
        importance = ranker.importance(kind)  # type: ignore[arg-type]
        assert next(iter(importance)) == "signal"
        assert set(importance) == set(NAMES)
        assert list(importance.values()) == sorted(importance.values(), reverse=True)


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_learns_as_well_from_few_negatives(objective: str) -> None:
    everything = BoostedTrees(config(objective, n_hard_negatives=0), seed=7).fit(*TRAIN, NAMES)
    few = BoostedTrees(config(objective, n_hard_negatives=2, other_negatives=0.2), seed=7).fit(*TRAIN, NAMES)
    assert top_1(few, HELD_OUT) > top_1(everything, HELD_OUT) - 0.1
    assert not np.array_equal(scores(few), scores(everything))


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_same_seed_same_scores(objective: str) -> None:
    one, two = (scores(BoostedTrees(config(objective), seed=7).fit(*TRAIN, NAMES)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    other = scores(BoostedTrees(config(objective), seed=8).fit(*TRAIN, NAMES))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_an_article_without_candidates_changes_nothing(objective: str) -> None:
    nothing, none = np.zeros((0, len(NAMES))), np.zeros(0, dtype=np.float32)
    with_gaps = ([nothing, *TRAIN[0][:5], nothing, *TRAIN[0][5:]], [none, *TRAIN[1][:5], none, *TRAIN[1][5:]])
    fitted, other = (BoostedTrees(config(objective), seed=7).fit(*data, NAMES) for data in (TRAIN, with_gaps))
    np.testing.assert_array_equal(scores(other), scores(fitted))


def test_a_ranking_objective_gets_each_article_as_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    train = lightgbm.train

    def noting(options: dict[str, object], data: lightgbm.Dataset, **rest: int) -> lightgbm.Booster:
        given.append(data)
        return train(options, data, **rest)

    monkeypatch.setattr(lightgbm, "train", noting)
    BoostedTrees(config("lambdarank", n_hard_negatives=0, n_bags=1), seed=7).fit(*TRAIN, NAMES)
    BoostedTrees(config("lambdarank", n_hard_negatives=2, other_negatives=0.0, n_bags=1), seed=7).fit(*TRAIN, NAMES)
    whole, miners, few = (data.get_group().tolist() for data in given)
    assert whole == miners == [len(label) for label in TRAIN[1]]
    assert few == [int(label.sum()) + min(2, int((label == 0).sum())) for label in TRAIN[1]]


@pytest.mark.parametrize("option", ["train_articles", "mining_articles"])
def test_trees_may_learn_from_some_of_the_articles(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    train = lightgbm.train

    def noting(options: dict[str, object], data: lightgbm.Dataset, **rest: int) -> lightgbm.Booster:
        given.append(data)
        return train(options, data, **rest)

    monkeypatch.setattr(lightgbm, "train", noting)
    some = config("lambdarank", n_hard_negatives=2, other_negatives=0.0, n_bags=1, **{option: 5})
    BoostedTrees(some, seed=7).fit(*TRAIN, NAMES)
    n_articles = len(TRAIN[1])
    assert n_articles > 5
    assert [len(data.get_group()) for data in given] == [5, 5 if option == "train_articles" else n_articles]


def test_of_more_articles_than_there_are_all_are_drawn() -> None:
    assert drawn("abc", 0, seed=1) == drawn("abc", 3, seed=1) == drawn("abc", 9, seed=1) == ["a", "b", "c"]
    several = {tuple(drawn("abcdef", 2, seed=seed)) for seed in range(20)}
    assert len(several) > 5
    assert all(list(pair) == sorted(pair) for pair in several)


def test_infinities_count_as_missing() -> None:
    def spoilt(value: float) -> Data:
        rng = np.random.default_rng(3)
        return [np.where(rng.random(matrix.shape) < 0.2, value, matrix) for matrix in TRAIN[0]], TRAIN[1]

    rankers = [BoostedTrees(config(), seed=7).fit(*spoilt(value), NAMES) for value in (np.nan, np.inf, -np.inf)]
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
    ranker = BoostedTrees(config(objective), seed=7).fit(*TRAIN, NAMES)
    matrix = HELD_OUT[0][0]
    alone = np.concatenate([ranker.score(matrix[row : row + 1]) for row in range(len(matrix))])
    np.testing.assert_array_equal(ranker.score(matrix), alone)
    assert ranker.score(matrix).dtype == np.float64


def test_no_candidates() -> None:
    with_empty = [*TRAIN[0], np.empty((0, len(NAMES)), np.float32)], [*TRAIN[1], np.empty(0, np.float32)]
    ranker = BoostedTrees(config("lambdarank"), seed=7).fit(*with_empty, NAMES)
    np.testing.assert_array_equal(scores(ranker), scores(BoostedTrees(config("lambdarank"), seed=7).fit(*TRAIN, NAMES)))
    assert ranker.score(np.empty((0, len(NAMES)))).shape == (0,)


def test_bags_are_averaged() -> None:
    ranker = BoostedTrees(config(n_bags=3), seed=7).fit(*TRAIN, NAMES)
    matrix = HELD_OUT[0][0]
    single = [booster.predict(clean_matrix(matrix), raw_score=True) for booster in ranker.boosters_]
    assert len(single) == 3
    assert not np.array_equal(single[0], single[1])
    np.testing.assert_allclose(ranker.score(matrix), sum(single) / 3, rtol=1e-12)


def test_fitting_again_forgets_the_first_fit() -> None:
    ranker = BoostedTrees(config(), seed=7).fit(*HELD_OUT, NAMES)
    fresh = scores(BoostedTrees(config(), seed=7).fit(*TRAIN, NAMES))
    np.testing.assert_array_equal(scores(ranker.fit(*TRAIN, NAMES)), fresh)


# --- scores


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_scores_are_lightgbms_to_the_last_bit(objective: str, tmp_path: Path) -> None:
    options = config(objective, n_bags=1)
    ranker = BoostedTrees(options, seed=7).fit(*TRAIN, NAMES)
    ranker.save(tmp_path)
    rng = np.random.default_rng(5)
    matrix = clean_matrix(rng.normal(size=(400, len(NAMES))) * 3)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    wanted = lightgbm.Booster(model_file=tmp_path / "model.txt").predict(matrix, raw_score=True)
    np.testing.assert_array_equal(BoostedTrees.load(tmp_path, options, seed=7).score(matrix), wanted)
    np.testing.assert_array_equal(ranker.score(np.asfortranarray(matrix)), wanted)


def test_rows_of_another_width_are_refused() -> None:
    ranker = BoostedTrees(config(), seed=7).fit(*TRAIN, NAMES)
    with pytest.raises(ValueError, match="want 4 columns"):
        ranker.score(np.zeros((2, 3), dtype=np.float32))


def test_what_lightgbm_cannot_read_is_refused() -> None:
    with pytest.raises(ValueError, match=r".+"):
        TreeScorer("tree\nno such thing\n")


# --- columns


def test_other_columns_are_refused() -> None:
    ranker = BoostedTrees(config(n_estimators=2), seed=7).fit(*TRAIN, NAMES)
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
    ranker = BoostedTrees(options, seed=7).fit(*TRAIN, NAMES)
    ranker.save(tmp_path)
    again = BoostedTrees.load(tmp_path, options, seed=7)
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
    BoostedTrees(config(n_estimators=2), seed=7).fit(*TRAIN, NAMES).save(folder)
    return folder


def copied(saved: Path, folder: Path) -> Path:
    for path in saved.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("name", ["features.json", "model.txt"])
def test_missing_files_are_named(saved: Path, tmp_path: Path, name: str) -> None:
    (copied(saved, tmp_path) / name).unlink()
    with pytest.raises(ArtifactError, match=rf"{name}: cannot be read"):
        BoostedTrees.load(tmp_path, config(), seed=7)


def test_a_missing_bag_is_named(saved: Path) -> None:
    with pytest.raises(ArtifactError, match=r"model-1\.txt: cannot be read"):
        BoostedTrees.load(saved, config(n_bags=2), seed=7)


def test_reordered_feature_names_are_refused(saved: Path, tmp_path: Path) -> None:
    (copied(saved, tmp_path) / "features.json").write_text(json.dumps(NAMES[::-1]))
    with pytest.raises(ArtifactError, match=r"model\.txt: its features are not those of .*features\.json"):
        BoostedTrees.load(tmp_path, config(), seed=7)
