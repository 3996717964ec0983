"""A training article is pruned by the pruner that has not seen its fold, a new one by that of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.config import CandidateConfig, load_config
from pipeline.entities.features import Extractor
from pipeline.entities.pruning import COLUMNS, Pruner
from pipeline.schema import Article, Emotion, Entity
from pipeline.text import default_segmenter
from pipeline.workflow.candidate_stage import build_table, fit_extractor

LONG_NAME = "城南大学附属医院"
ARTICLE = Article("a", "云杉", f"海棠和银杏，云杉和海棠，云杉和银杏。记者从{LONG_NAME}回来。")
FREQUENT, LONG, EARLY = "log_tf", "length", "log_first"


def prefers(column: str, sign: float = 1.0) -> Pruner:
    return Pruner(np.array([sign if name == column else 0.0 for name in COLUMNS]))


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    return Extractor(
        CandidateConfig(max_candidates=3),
        segmenter=default_segmenter(),
        dictionary=["云杉", "海棠", "银杏", LONG_NAME],
        gold_names={},
        pruners={"0": prefers(FREQUENT), "1": prefers(LONG), "all": prefers(EARLY, -1.0)},
    )


@pytest.mark.parametrize(("fold", "has_long"), [(0, False), (1, True), (None, False)])
def test_the_pruner_is_that_of_the_fold(extractor: Extractor, fold: int | None, has_long: bool) -> None:
    kept = extractor.pruned(ARTICLE, fold).keys
    assert len(kept) == 3
    assert (LONG_NAME in kept) == has_long


def test_the_table_of_a_training_is_pruned_by_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pruners are told apart by what they keep: each fold's the longest name, that of all the most frequent."""
    fitted = iter([prefers(FREQUENT), prefers(LONG), prefers(LONG)])  # of all, then of each fold
    monkeypatch.setattr(Pruner, "fit", lambda *_: next(fitted))
    names = tmp_path / "names.txt"
    names.write_text(f"{LONG_NAME}\n", encoding="utf-8")
    overrides = ["n_folds=2", "workers=1", f"candidates.dictionary={names}", "candidates.max_candidates=3"]
    options = load_config(preset="tiny", overrides=overrides)
    gold = (Entity("云杉", Emotion.POS),)
    articles = [Article(name, ARTICLE.title, ARTICLE.content, gold) for name in ("a", "b")]
    folds = {"a": 0, "b": 1}
    extractor = fit_extractor(articles, folds, options, tmp_path)
    table, _ = build_table(articles, folds, options, tmp_path, store=tmp_path / "features")
    assert [LONG_NAME in keys for keys in table.keys] == [True, True]
    assert LONG_NAME not in extractor.pruned(ARTICLE).keys
