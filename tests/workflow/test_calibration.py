"""The short trial of a training: each stage costs something, by the code of the training, and nothing is left."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.data.read import iter_articles
from pipeline.schema import Article
from pipeline.workflow.budget import plan
from pipeline.workflow.calibration import calibrate, sizes_of
from tests.support.paths import TINY_ARTICLES
from tests.support.tiny_encoder import write_tiny_encoder

ARTICLES = list(iter_articles(TINY_ARTICLES, labelled=True))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    encoder = write_tiny_encoder(tmp_path_factory.mktemp("encoder"))
    tagger = ["tagger.name=bert", f"tagger.encoder={encoder}", "tagger.window_tokens=48", "tagger.title_tokens=8"]
    small = ["tagger.train_window_tokens=32", "tagger.overlap_tokens=8", "candidates.dictionary=", "workers=1"]
    return load_config(preset="tiny", overrides=[*tagger, *small])


def test_sizes_are_counted() -> None:
    sizes = sizes_of([Article("a", "ab", "云杉", ()), *ARTICLES[:1]])
    content = len(ARTICLES[0].title) + len(ARTICLES[0].content)
    assert (sizes.lengths, sizes.n_targets) == ((4, content), len(ARTICLES[0].entities or ()))
    assert sizes.n_bytes == 2 + 6 + len((ARTICLES[0].title + ARTICLES[0].content).encode())


def test_every_stage_is_tried_and_nothing_is_left(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    frozen = replace(config.tagger, freeze_layers=1, frozen_dropout=False)
    costs = calibrate(config, ARTICLES, variants=[frozen])
    assert costs.tagger is not None
    assert costs.rerank is not None
    assert set(costs.tagger.learning) == {(0, True), (1, False)}
    assert min(costs.tagger.training, costs.tagger.predict, costs.tagger.save) > 0
    assert all(cost.step > 0 for cost in costs.tagger.learning.values())
    assert costs.tagger.learning[1, False].once > 0
    assert min(costs.rerank.fit, costs.rerank.article, costs.rerank.tree_row, costs.rerank.score) > 0
    assert costs.rerank.n_candidates > costs.rerank.n_gold > 0
    assert set(costs.members) == {"tfidf", "ian"}
    assert (costs.members["ian"].n_epochs, costs.members["ian"].keeps_folds) == (2, True)
    assert all(min(cost.example, cost.predict) > 0 for cost in costs.members.values())
    assert (costs.n_articles, costs.seconds > 0) == (len(ARTICLES), True)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_tried_is_told_and_not_estimated(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    options = replace(config, tagger=replace(config.tagger, name="none"))
    bare = [replace(article, entities=()) for article in ARTICLES]
    found = plan(options, bare)
    assert "sentiment" not in [stage.stage for stage in found.stages]
    assert "calibration: members is not estimated: the articles that were drawn have no entity" in caplog.messages
    assert found.lines()[-1].startswith("  not estimated: ")
