"""``run.py train`` as a launcher starts it: two processes on one machine train every network of a run together."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from itertools import permutations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.artifacts import RunFolder
from pipeline.config import load_config
from pipeline.data.read import iter_articles
from pipeline.errors import ConfigError
from pipeline.workflow.predict_stream import predict_stream
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest
from tests.support.command_line import Cli, Done, TinyRun

pytestmark = pytest.mark.enable_socket

NAMES = ("青禾科技", "云杉汽车", "银杏书店", "海棠茶社", "松果手机", "白鹭航空")
SAYS = {"POS": "广受夸赞", "NORM": "位于城东", "NEG": "遭到批评"}
PLACES = ("山海", "江河", "湖泊", "平原")
N_ARTICLES = 12
HALF = {"tagger.training": 6, "relevance.training": 12, "training": 3}
"""Batch sizes that cut what each network of ``OPTIONS`` learns from, in every fold, into two batches of one size."""
OPTIONS = (
    "n_folds=3",
    "workers=1",
    "candidates.dictionary=",
    "rerank.min_child_samples=2",
    "rerank.n_estimators=5",
    "tagger.name=lstm",
    "tagger.embedding_dim=16",
    "tagger.hidden_dim=16",
    "tagger.dropout=0.0",
    "tagger.training.max_epochs=4",
    "tagger.training.learning_rate=0.02",
    "relevance.name=malstm",
    "relevance.dropout=0.0",
    "relevance.n_negatives=1",
    "relevance.training.max_epochs=2",
    "sentiment.members=[tfidf,lstm]",
    "sentiment.dev_fraction=0.25",
    "head.dropout=0.0",
    "head.class_weight_power=0.0",
    "training.max_epochs=3",
)


def row(index: int) -> dict[str, object]:
    """Return an article with one entity; all are of one length, and no two are near-duplicates."""
    name, emotion = NAMES[index % 6], sorted(SAYS)[index % 3]
    first, second = list(permutations(PLACES, 2))[index]
    content = (
        f"{first}今天有雨。《{name}》{SAYS[emotion]}。{second}记者来到现场。《{name}》{SAYS[emotion]}。第{index:02}期。"
    )
    entities = [{"entity": name, "emotion": emotion}]
    return {
        "newsId": f"a{index:02}",
        "title": f"《{name}》{index:02}",
        "content": content,
        "coreEntityEmotions": entities,
    }


def options(times: int) -> list[str]:
    """Return the options of a training with batches so many times the size."""
    return [*OPTIONS, *(f"{part}.batch_size={times * size}" for part, size in HALF.items())]


def arguments(articles: Path, name: str, *, times: int = 1) -> list[object]:
    overrides = [part for option in options(times) for part in ("--set", option)]
    return ["train", "--preset", "tiny", "--train", articles, "--run", name, *overrides]


def losses(run: Path) -> dict[tuple[object, ...], float]:
    """Return the loss of each network in each epoch."""
    lines = [json.loads(line) for line in RunFolder(run).log_jsonl.read_text("utf-8").splitlines()]
    return {(line["stage"], line.get("member"), line["fold"], line["epoch"]): line["loss"] for line in lines}


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("launched") / "train.jsonl"
    rows = [json.dumps(row(index), ensure_ascii=False) + "\n" for index in range(N_ARTICLES)]
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def launched(cli: Cli, articles: Path) -> tuple[TinyRun, list[Done]]:
    """Return a run that two processes trained, and how they ended."""
    cwd = articles.parent
    return TinyRun(cwd, "two"), cli.launch(2, *arguments(articles, "two"), cwd=cwd)


def test_the_first_process_alone_reports(launched: tuple[TinyRun, list[Done]]) -> None:
    first, other = launched[1]
    assert (first.code, first.out, first.errors) == (0, "models/two\n", [])
    assert "networks are trained by 2 processes" in first.err
    assert other == Done(0, "", "")


def test_two_processes_train_a_run_that_predicts(articles: Path, launched: tuple[TinyRun, list[Done]]) -> None:
    run = RunFolder.load(launched[0].path)
    assert run.read_manifest()["facts"]["processes"] == 2
    read = list(iter_articles(articles, labelled=True))
    predictions = list(predict_stream(run, read, workers=1))
    assert [prediction.news_id for prediction in predictions] == [article.news_id for article in read]
    assert all(prediction.entities for prediction in predictions)


def test_losses_are_those_of_one_process_with_twice_the_batch(
    articles: Path, launched: tuple[TinyRun, list[Done]], tmp_path: Path
) -> None:
    alone = RunFolder.create(tmp_path, "one")
    train(TrainRequest([articles], load_config(preset="tiny", overrides=options(2))), alone)
    expected = losses(alone.path)
    assert {stage for stage, *_ in expected} == {"tagger", "relevance", "sentiment"}
    assert losses(launched[0].path) == pytest.approx(expected, abs=1e-4)
    first, last = (expected["tagger", None, 0, epoch] for epoch in (0, 3))
    assert last < 0.9 * first


@pytest.mark.slow
def test_a_resumed_run_trains_what_is_missing(
    cli: Cli, articles: Path, launched: tuple[TinyRun, list[Done]], tmp_path: Path
) -> None:
    run, _ = launched
    broken = TinyRun(tmp_path, "two")
    run.copy_to(tmp_path, "two")
    for name in ("manifest.json", "progress.json", "log.jsonl"):
        (broken.path / name).unlink()
    for name in ("tagger/folds/1", "tagger/folds/2", "tagger/model", "relevance", "rerank", "sentiment"):
        shutil.rmtree(broken.path / name)
    first, other = cli.launch(2, *arguments(articles, "two"), "--resume", cwd=tmp_path)
    assert (first.code, first.errors, other) == (0, [], Done(0, "", ""))
    assert sorted({str(fold) for stage, _, fold, _ in losses(broken.path) if stage == "tagger"}) == ["1", "2", "None"]
    assert broken.contents == run.contents


@pytest.mark.slow
def test_what_stops_every_process_is_said_once(cli: Cli, articles: Path, tmp_path: Path) -> None:
    first, other = cli.launch(2, *arguments(articles, "large", times=10), cwd=tmp_path)
    assert first.code == 2
    assert first.message == "2 processes cannot share an epoch of 1 batch(es)"
    assert other.code == 2


def test_other_commands_run_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    command_line = import_module("pipeline.cli.main")
    monkeypatch.setattr(command_line, "n_processes", lambda: 2)
    result = CliRunner().invoke(command_line.app, ["audit", "train.jsonl"])
    assert isinstance(result.exception, ConfigError)
    assert result.exception.message == "audit runs in one process"
