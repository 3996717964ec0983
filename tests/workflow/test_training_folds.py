"""The folds of a training where they are used: a repost is never judged by models that have read its original."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder, read_table
from pipeline.config import Config, load_config
from pipeline.data.folds import assign_folds
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest
from tests.support.paths import TINY_ARTICLES

N_TEXTS = 12
OPTIONS = (
    "n_folds=3",
    "workers=1",
    "candidates.dictionary=",
    "candidates.max_candidates=20",
    "rerank.n_estimators=3",
    "rerank.n_hard_negatives=0",
    "sentiment.members=[majority]",
)


def config() -> Config:
    return load_config(preset="tiny", overrides=list(OPTIONS))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Train on a dozen articles, each with a repost under another headline."""
    folder = tmp_path_factory.mktemp("reposts")
    rows = [json.loads(line) for line in TINY_ARTICLES.read_bytes().splitlines()[:N_TEXTS]]
    reposts = [
        {**row, "newsId": f"{row['newsId']}-repost", "title": f"{row['title']}（转）", "content": f"{row['content']}完"}
        for row in rows
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in [*rows, *reposts]]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = RunFolder.create(folder / "models", "reposts")
    train(TrainRequest([folder / "train.jsonl"], config()), run)
    return run


def folds_in(table: Path, id_column: str) -> dict[str, set[int]]:
    folds: dict[str, set[int]] = {}
    for row in read_table(table).to_dict("records"):
        folds.setdefault(row[id_column].removesuffix("-repost"), set()).add(int(row["fold"]))
    return folds


@pytest.mark.parametrize(("table", "id_column"), [("rerank", "newsId"), ("sentiment", "news_id")])
def test_an_article_and_its_repost_share_a_fold(run: RunFolder, table: str, id_column: str) -> None:
    folds = folds_in(run.oof(table), id_column)
    assert len(folds) == N_TEXTS
    assert {news_id: len(of_both) for news_id, of_both in folds.items()} == dict.fromkeys(folds, 1)
    assert set().union(*folds.values()) == {0, 1, 2}


def test_both_stages_use_the_same_folds(run: RunFolder) -> None:
    assert folds_in(run.oof("rerank"), "newsId") == folds_in(run.oof("sentiment"), "news_id")


def test_without_the_groups_reposts_would_be_torn_from_their_originals(run: RunFolder) -> None:
    """Else the test above would say nothing."""
    ids = set(read_table(run.oof("rerank"))["newsId"])
    alone = assign_folds({news_id: news_id for news_id in ids}, n_folds=3, seed=config().seed)
    originals = {news_id for news_id in ids if not news_id.endswith("-repost")}
    assert len(ids) == 2 * len(originals) == 2 * N_TEXTS
    assert sum(alone[news_id] != alone[f"{news_id}-repost"] for news_id in originals) >= N_TEXTS / 3
