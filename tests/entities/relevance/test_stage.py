from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import RelevanceConfig, TrainingConfig
from pipeline.entities.relevance import ArticlePairs, RelevanceStage, article_pairs
from pipeline.entities.relevance.stage import mean_auc
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.registry import MATCHERS
from pipeline.schema import Article
from pipeline.text import Document
from tests.support.located import located

NAMES = ("青禾科技", "云杉汽车", "银杏出版社", "松果茶社")
CONFIG = RelevanceConfig(
    name="malstm",
    embedding_dim=12,
    hidden_dim=8,
    dropout=0.1,
    n_negatives=2,
    training=TrainingConfig(max_epochs=6, batch_size=8, learning_rate=1e-2),
)


def pairs_of(title: str, content: str, *gold: str, news_id: str = "a") -> ArticlePairs:
    document = Document.of(Article(news_id, title, content))
    return article_pairs(located(document, NAMES), CONFIG, gold=set(gold))


def articles(n: int = 24) -> list[ArticlePairs]:
    """Return articles whose core entity wins a prize; two other names are only mentioned."""
    found = []
    for index in range(n):
        core, second, third = (NAMES[(index + shift) % 4] for shift in range(3))
        content = f"{second}在场。{core}获得大奖。{third}在场。"
        found.append(pairs_of("大奖揭晓", content, core, news_id=f"a{index}"))
    return found


PAIRS = articles()
FOLDS = [index // 4 % 3 for index in range(len(PAIRS))]


def fit(config: RelevanceConfig, folder: Path, pairs: list[ArticlePairs] = PAIRS, workers: int = 1) -> RelevanceStage:
    stage = RelevanceStage(config, seed=7, log=folder / "log.jsonl")
    return stage.fit(pairs, FOLDS, folder=folder, workers=workers)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[RelevanceStage, Path]:
    folder = tmp_path_factory.mktemp("relevance")
    return fit(CONFIG, folder), folder


def same(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
    return len(left) == len(right) and all(map(np.array_equal, left, right))


@pytest.mark.parametrize("name", MATCHERS)
def test_core_entities_score_higher(name: str, tmp_path: Path) -> None:
    pairs = articles(48)
    config = replace(CONFIG, name=name, training=replace(CONFIG.training, learning_rate=5e-3))
    folds = [index // 4 % 2 for index in range(len(pairs))]
    stage = RelevanceStage(config, seed=7).fit(pairs, folds, folder=tmp_path)
    assert stage.oof_auc_ > 0.9
    for scores in (stage.oof_, stage.predict(pairs)):
        assert all(len(row) == 3 and ((row >= 0) & (row <= 1)).all() for row in scores)
        assert mean_auc(scores, [article.is_core for article in pairs]) > 0.9


@pytest.mark.parametrize("loss", ["mse", "contrastive"])
def test_other_losses_learn_too(loss: str, tmp_path: Path) -> None:
    assert fit(replace(CONFIG, loss=loss), tmp_path).oof_auc_ > 0.9  # type: ignore[arg-type]


def test_scores_of_an_article_do_not_depend_on_its_own_labels(
    fitted: tuple[RelevanceStage, Path], tmp_path: Path
) -> None:
    held_out = [index for index, fold in enumerate(FOLDS) if fold == 1]
    changed = list(PAIRS)
    for index in held_out:
        flipped = ~PAIRS[index].is_core
        changed[index] = replace(PAIRS[index], is_core=flipped, weights=1.0 - flipped)
    stage = fit(CONFIG, tmp_path, changed)
    assert same([stage.oof_[index] for index in held_out], [fitted[0].oof_[index] for index in held_out])
    others = [index for index, fold in enumerate(FOLDS) if fold != 1]
    assert not same([stage.oof_[index] for index in others], [fitted[0].oof_[index] for index in others])


def test_finished_trainings_are_not_repeated(fitted: tuple[RelevanceStage, Path]) -> None:
    stage, folder = fitted
    log = folder / "log.jsonl"
    n_lines = len(log.read_text().splitlines())
    assert n_lines == 4 * CONFIG.training.max_epochs
    again = fit(CONFIG, folder)
    assert len(log.read_text().splitlines()) == n_lines
    assert same(again.oof_, stage.oof_)
    assert same(again.predict(PAIRS[:2]), stage.predict(PAIRS[:2]))
    (folder / "folds" / "1" / "done.json").unlink()
    again = fit(CONFIG, folder)
    lines = [json.loads(line) for line in log.read_text().splitlines()[n_lines:]]
    assert [line["fold"] for line in lines] == [1] * CONFIG.training.max_epochs
    assert same(again.oof_, stage.oof_)


def test_other_options_or_labels_train_again(fitted: tuple[RelevanceStage, Path], tmp_path: Path) -> None:
    once = replace(CONFIG, training=replace(CONFIG.training, max_epochs=1))
    fit(once, tmp_path)
    fit(replace(once, n_negatives=1), tmp_path)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 8
    fit(replace(once, n_negatives=1), tmp_path, [*PAIRS[:-1], replace(PAIRS[-1], is_core=~PAIRS[-1].is_core)])
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 12


def test_two_workers_give_the_same_scores(fitted: tuple[RelevanceStage, Path], tmp_path: Path) -> None:
    stage = fit(CONFIG, tmp_path, workers=2)
    assert same(stage.oof_, fitted[0].oof_)
    assert same(stage.predict(PAIRS), fitted[0].predict(PAIRS))


def test_a_loaded_stage_predicts_alike(fitted: tuple[RelevanceStage, Path]) -> None:
    stage, folder = fitted
    assert same(RelevanceStage.load(folder, CONFIG, seed=7).predict(PAIRS), stage.predict(PAIRS))
    with pytest.raises(ArtifactError, match=r"matcher\.json: holds .*malstm.*, the configuration wants .*soft_align"):
        RelevanceStage.load(folder, replace(CONFIG, name="soft_align"), seed=7)
    with pytest.raises(ArtifactError, match=r"model\.safetensors: does not fit the network"):
        RelevanceStage.load(folder, replace(CONFIG, hidden_dim=9), seed=7)
    with pytest.raises(ArtifactError, match="cannot be read"):
        RelevanceStage.load(folder / "none", CONFIG, seed=7)


def test_an_article_scores_the_same_whatever_stands_around_it(fitted: tuple[RelevanceStage, Path]) -> None:
    stage = fitted[0]
    longer = pairs_of("大奖" * 40, "银杏出版社获奖" * 30)
    assert np.array_equal(stage.predict([longer, PAIRS[3]])[1], stage.predict([PAIRS[3]])[0])


@pytest.mark.parametrize(
    ("title", "content"), [("", "云杉汽车"), ("云杉汽车", ""), ("", "。云杉汽车"), ("x", "松果茶社")]
)
@pytest.mark.parametrize("name", MATCHERS)
def test_missing_parts_give_finite_scores(name: str, title: str, content: str, tmp_path: Path) -> None:
    once = replace(CONFIG, name=name, training=replace(CONFIG.training, max_epochs=1))
    [scores] = fit(once, tmp_path).predict([pairs_of(title, content)])
    assert scores.shape == (1,)
    assert np.isfinite(scores).all()


def test_articles_without_candidates_or_core_entities_are_scored_but_not_trained_on(tmp_path: Path) -> None:
    once = replace(CONFIG, training=replace(CONFIG.training, max_epochs=1))
    more = [*PAIRS, pairs_of("无", "无"), pairs_of("", "云杉汽车")]
    stage = RelevanceStage(once, seed=7).fit(more, [*FOLDS, 0, 1], folder=tmp_path)
    assert [len(scores) for scores in stage.oof_[-2:]] == [0, 1]
    assert stage.predict([pairs_of("", "")])[0].shape == (0,)
    with pytest.raises(DataError, match="nothing to pair"):
        RelevanceStage(once, seed=7).fit([pairs_of("", "云杉汽车")], [0], folder=tmp_path)


def test_unknown_matcher() -> None:
    with pytest.raises(ConfigError, match=r"unknown matcher 'soft_aling' \(have: malstm, soft_align\)") as caught:
        RelevanceStage(replace(CONFIG, name="soft_aling"), seed=7)
    assert caught.value.hint == "did you mean 'soft_align'?"


def test_auc_worked_by_hand() -> None:
    scores = [np.array([0.9, 0.5, 0.9, 0.1]), np.array([0.2, 0.3]), np.array([0.5]), np.zeros(0)]
    core = [np.array([True, False, False, False]), np.array([True, False]), np.array([True]), np.zeros(0, dtype=bool)]
    assert mean_auc(scores, core) == pytest.approx(((0.5 + 1 + 1) / 3 + 0) / 2)
    assert mean_auc(scores[2:], core[2:]) == 0.5
