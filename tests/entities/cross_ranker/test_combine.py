"""Two rerankings joined: columns by hand, out-of-fold weights, save and load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import Config, CrossConfig, RerankConfig
from pipeline.entities.cross_ranker import FirstPass
from pipeline.entities.cross_ranker.combine import COLUMNS, COMBINERS, Blend, Stack, TwoScores, log_odds
from pipeline.entities.features import FeatureTable
from pipeline.errors import ArtifactError

CONFIG = Config(
    rerank=RerankConfig(learning_rate=0.2, num_leaves=7, min_child_samples=5), cross=CrossConfig(n_estimators=15)
)
N_ARTICLES, N_CANDIDATES, N_READ = 60, 8, 5
FOLDS = [index % 3 for index in range(N_ARTICLES)]


def make(*, flip_fold: int | None = None) -> tuple[FeatureTable, list[TwoScores]]:
    """Articles whose gold candidate has a high score from the encoder, and only a little higher log odds."""
    rng = np.random.default_rng(0)
    matrices, labels, scores = [], [], []
    for index in range(N_ARTICLES):
        gold = np.arange(N_CANDIDATES) == rng.integers(0, N_READ)
        first = rng.normal(size=N_CANDIDATES) + 0.5 * gold
        cross = np.where(np.arange(N_CANDIDATES) < N_READ, rng.normal(size=N_CANDIDATES) + 4 * gold, np.nan)
        label = np.roll(gold[:N_READ], 1) if FOLDS[index] == flip_fold else gold[:N_READ]
        matrices.append(rng.normal(size=(N_CANDIDATES, 2)).astype(np.float32))
        labels.append(np.concatenate([label, np.zeros(N_CANDIDATES - N_READ)]).astype(np.float32))
        scores.append(TwoScores(first, cross.astype(np.float32)))
    keys = [[f"名{index}{row}" for row in range(N_CANDIDATES)] for index in range(N_ARTICLES)]
    firsts = [np.arange(N_CANDIDATES) for _ in keys]
    table = FeatureTable(
        ["x.a", "x.b"], [f"a{index}" for index in range(N_ARTICLES)], keys, firsts, matrices, labels, [1] * N_ARTICLES
    )
    return table, scores


TABLE, SCORES = make()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("combined")


@pytest.fixture(scope="module", params=COMBINERS)
def fitted(request: pytest.FixtureRequest, folder: Path) -> Stack | Blend:
    return COMBINERS[request.param](CONFIG).fit(TABLE, SCORES, FOLDS, folder=folder / request.param)


def test_columns_by_hand() -> None:
    columns = TwoScores(np.array([0.5, 2.0, -1.0]), np.array([1.5, np.nan, 4.0], np.float32)).columns()
    assert len(COLUMNS) == 5
    expected = [[0.5, 2, 1.5, 2, -2.5], [2.0, 1, np.nan, np.nan, np.nan], [-1.0, 3, 4.0, 1, 0.0]]
    np.testing.assert_array_equal(columns, np.array(expected, np.float32))
    assert np.isnan(TwoScores(np.zeros(2), np.full(2, np.nan, np.float32)).columns()[:, 2:]).all()


def test_a_blend_by_hand() -> None:
    both = TwoScores(np.array([1.0, 3.0, 0.0, -2.0]), np.array([5.0, -1.0, np.nan, np.nan], np.float32))
    blended = both.blended(0.25)
    np.testing.assert_allclose(blended[:2], [2.0, 2.0])
    assert blended[1] > blended[2] > blended[3]
    np.testing.assert_allclose(blended[2] - blended[3], 2.0)
    unread = TwoScores(np.array([1.0, 2.0]), np.full(2, np.nan, np.float32))
    assert unread.blended(0.5).tolist() == [1.0, 2.0]


def test_log_odds_are_finite() -> None:
    np.testing.assert_allclose(log_odds(np.array([0.5, 0.75])), [0.0, np.log(3)])
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


def test_the_better_score_decides(fitted: Stack | Blend) -> None:
    assert fitted.oof_entity_f1_ > 0.9
    right = [np.argmax(prob) == np.argmax(label) for prob, label in zip(fitted.oof_probs_, TABLE.labels, strict=True)]
    assert np.mean(right) > 0.9
    assert all(((prob >= 0) & (prob <= 1)).all() for prob in fitted.oof_probs_)


@pytest.mark.parametrize("name", COMBINERS)
def test_what_chose_an_articles_scores_has_not_seen_its_labels(name: str, tmp_path: Path) -> None:
    """Order within the article: calibration is one curve for all, and sees every label."""
    table, scores = make(flip_fold=1)
    before = COMBINERS[name](CONFIG).fit(TABLE, SCORES, FOLDS, folder=tmp_path / "before")
    after = COMBINERS[name](CONFIG).fit(table, scores, FOLDS, folder=tmp_path / "after")
    for row in (row for row in range(N_ARTICLES) if FOLDS[row] == 1):
        assert np.argsort(after.oof_probs_[row]).tolist() == np.argsort(before.oof_probs_[row]).tolist()


def test_what_is_loaded_ranks_alike(fitted: Stack | Blend, folder: Path, tmp_path: Path) -> None:
    name = next(name for name, kind in COMBINERS.items() if isinstance(fitted, kind))
    loaded = type(fitted).load(folder / name, CONFIG)
    assert loaded.rule_ == fitted.rule_
    for matrix, scores in zip(TABLE.matrices[:5], SCORES[:5], strict=True):
        probs = fitted.probs(TABLE.names, matrix, scores)
        assert loaded.probs(TABLE.names, matrix, scores).tolist() == probs.tolist()
    with pytest.raises(ArtifactError):
        type(fitted).load(tmp_path / "none", CONFIG)


def test_stacked_trees_refuse_other_features(tmp_path: Path) -> None:
    stack = Stack(CONFIG).fit(TABLE, SCORES, FOLDS, folder=tmp_path)
    with pytest.raises(ArtifactError, match=r"'x\.b' was trained, 'x\.c' given"):
        stack.probs(["x.a", "x.c"], TABLE.matrices[0], SCORES[0])


def test_the_first_ranking_survives_a_round_trip(tmp_path: Path) -> None:
    table = replace(TABLE.select(range(3)), keys=[[], *TABLE.keys[1:3]])
    empty = {"matrices": table.matrices[0][:0], "labels": table.labels[0][:0], "firsts": table.firsts[0][:0]}
    table = replace(table, **{name: [part, *getattr(table, name)[1:]] for name, part in empty.items()})
    probs = [np.zeros(0), *(np.linspace(0, 1, N_CANDIDATES) for _ in range(2))]
    files = FirstPass(table, probs).save(tmp_path)
    assert all(file.is_file() for file in files)
    loaded = FirstPass.load(tmp_path)
    assert (loaded.table.names, loaded.table.keys, loaded.table.n_gold) == (table.names, table.keys, table.n_gold)
    for name in ("matrices", "labels", "firsts"):
        for ours, theirs in zip(getattr(table, name), getattr(loaded.table, name), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
    assert [prob.tolist() for prob in loaded.probs] == [prob.tolist() for prob in probs]
    files[0].write_bytes(b"x")
    with pytest.raises(ArtifactError, match="cannot be read"):
        FirstPass.load(tmp_path)
