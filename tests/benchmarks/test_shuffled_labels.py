"""The leak check: chance on labels that mean nothing, and an alarm for each leak that is planted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.shuffled_labels import LeakCheck, chance_f1, check_leaks, main, shuffle_labels, table
from pipeline.config import load_config
from pipeline.data.read import read_training
from pipeline.entities.candidates import CandidateSet
from pipeline.entities.features import Extractor, FoldedKeyCounts
from pipeline.metric import entity_f1
from pipeline.runtime.trainings import MODEL
from pipeline.text import match_key
from tests.support.paths import TINY_ARTICLES

TRAIN = TINY_ARTICLES
OPTIONS = ("workers=1", "sentiment.members=[tfidf]", "sentiment.choose=tfidf", "candidates.dictionary=")
CONFIG = load_config(preset="tiny", overrides=[*OPTIONS, "rerank.min_child_samples=5"])


def checked(folder: Path, seed: int = 1) -> LeakCheck:
    return check_leaks(shuffle_labels(read_training([TRAIN]), CONFIG, seed=seed), CONFIG, folder)


def hit_rates_of_all_folds(patch: pytest.MonkeyPatch) -> None:
    without = FoldedKeyCounts.without
    patch.setattr(FoldedKeyCounts, "without", lambda counts, fold: without(counts, None))


def gold_names_of_all_folds(patch: pytest.MonkeyPatch) -> None:
    candidates = Extractor.candidates
    patch.setattr(Extractor, "candidates", lambda self, article, fold=None, spans=None: candidates(self, article))


def fitted_on_everything(task: Any, items: Any, folds: Any, *, folder: Path, **options: Any) -> list[Any]:
    """Stand in for ``train_folds``: the model has seen the items it is applied to."""
    model = task.fit(list(items), None)
    model.save(folder / MODEL)
    return [task.read(value) for value in task.predict(model, list(items))]


def counts_of_what_gold_names_brought(patch: pytest.MonkeyPatch) -> None:
    """Count the keys that are kept with gold names known: this was so once, and this check found it."""
    patch.setattr(CandidateSet, "without", lambda candidates, source: candidates)


def reranker_that_saw_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("pipeline.runtime.fold_training.train_folds", fitted_on_everything)


def emotion_model_that_saw_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("pipeline.emotions.sentiment.stage.train_folds", fitted_on_everything)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_training_on_shuffled_labels_is_at_chance(tmp_path: Path, seed: int) -> None:
    check = checked(tmp_path, seed)
    assert not check.leaks, table([check])
    assert check.n_articles == 54
    assert check.entities.value < 0.15
    assert check.emotions.value < check.majority + 0.1


@pytest.mark.parametrize(
    ("plant", "figure"),
    [
        (hit_rates_of_all_folds, "entities"),
        (gold_names_of_all_folds, "entities"),
        (counts_of_what_gold_names_brought, "entities"),
        (reranker_that_saw_all, "entities"),
        (emotion_model_that_saw_all, "emotions"),
    ],
)
def test_a_planted_leak_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], figure: str
) -> None:
    plant(monkeypatch)
    check = checked(tmp_path, seed=2)
    leaking, clean = (check.entities, check.emotions)[:: 1 if figure == "entities" else -1]
    assert leaking.leaks, table([check])
    assert leaking.value > leaking.chance + 0.1
    assert not clean.leaks, table([check])


def test_the_shuffled_labels_are_candidates_and_the_same_emotions() -> None:
    articles = read_training([TRAIN])
    shuffled = shuffle_labels(articles, CONFIG, seed=1)
    assert shuffled == shuffle_labels(articles, CONFIG, seed=1)
    assert shuffled != shuffle_labels(articles, CONFIG, seed=2)
    pairs = list(zip(articles, shuffled.articles, strict=True))
    assert all((old.news_id, old.title, old.content) == (new.news_id, new.title, new.content) for old, new in pairs)
    assert [len(old.entities or ()) for old, _ in pairs] == [len(new.entities or ()) for _, new in pairs]
    before, after = (
        sorted(entity.emotion for article in some for entity in article.entities or ())
        for some in (articles, shuffled.articles)
    )
    assert before == after
    n_kept = sum(
        match_key(new.name) in {match_key(old.name) for old in was.entities or ()}
        for was, now in pairs
        for new in now.entities or ()
    )
    assert n_kept < 0.1 * len(before)


def test_the_chance_of_random_answers_by_drawing() -> None:
    names = [str(number) for number in range(12)]
    rng = np.random.default_rng(0)
    drawn = [entity_f1(names[:2], rng.choice(names, 3, replace=False)) for _ in range(4000)]
    assert chance_f1(3, 2, 12) == pytest.approx(np.mean(drawn), abs=0.01)
    assert chance_f1(0, 0, 5) == 1.0
    assert chance_f1(0, 2, 5) == chance_f1(2, 1, 0) == 0.0


def test_the_command_prints_a_table_and_exits_by_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [part for option in (*OPTIONS, "rerank.n_estimators=10") for part in ("--set", option)]
    assert main(["--train", str(TRAIN), "--preset", "tiny", *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith("54 articles, ")
    assert "| entity F1 | " in out
    assert "YES" not in out
