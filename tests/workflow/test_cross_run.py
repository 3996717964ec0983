"""A run with a second reranking: trained, resumed and predicted with by the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pipeline.submission import read_submission
from tests.support.command_line import Cli, TinyRun, TinyRuns
from tests.support.tiny_encoder import write_tiny_encoder

KINDS = {"encoder": ("encoder", "stack"), "pooled": ("pooled", "blend")}
SCORE_FLOOR = 0.8


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    encoder = write_tiny_encoder(tmp_path_factory.mktemp("encoder"))
    options = {"max_tokens": 48, "pooled_tokens": 96, "top_k": 4, "n_negatives": 2, "n_estimators": 20}
    return [
        f"cross.encoder.name={encoder}",
        "cross.encoder.training.max_epochs=1",
        "sentiment.members=[majority]",
        *(f"cross.{name}={value}" for name, value in options.items()),
    ]


def train(kind: str, tiny_runs: TinyRuns, settings: list[str]) -> TinyRun:
    return tiny_runs.train(overrides=[*settings, *kind_options(kind)])


def kind_options(kind: str) -> list[str]:
    return [f"cross.name={KINDS[kind][0]}", f"cross.combine={KINDS[kind][1]}"]


@pytest.fixture(scope="module", params=KINDS)
def run(request: pytest.FixtureRequest, tiny_runs: TinyRuns, settings: list[str]) -> TinyRun:
    return train(request.param, tiny_runs, settings)


@pytest.fixture(scope="module")
def pooled(tiny_runs: TinyRuns, settings: list[str]) -> TinyRun:
    return train("pooled", tiny_runs, settings)


def rows(run: TinyRun) -> list[dict[str, str]]:
    with (run.path / "oof" / "rerank.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_holds_final_and_first_scores(run: TinyRun) -> None:
    table = rows(run)
    assert len({row["newsId"] for row in table}) == 44
    assert any(row["score"] != row["first_score"] for row in table)
    assert all(0 <= float(row[name]) <= 1 for row in table for name in ("score", "first_score"))
    figures = json.loads((run.path / "metrics.json").read_bytes())
    assert set(figures["seconds"]) == {"rerank", "cross", "sentiment"}
    assert figures["cross"]["oof_entity_f1"] >= SCORE_FLOOR
    assert figures["cross"]["oof_entity_f1"] == pytest.approx(figures["out_of_fold"]["entity_f1"], abs=0.02)
    assert 0.9 <= figures["cross"]["recall_at_top_k"] <= 1


def test_predictions_are_complete(run: TinyRun, tiny_runs: TinyRuns, tiny_data: Path, tmp_path: Path) -> None:
    tiny_runs.predict(run, tiny_data / "all.jsonl", tmp_path / "all.txt")
    answers = read_submission(tmp_path / "all.txt")
    assert len(answers) == 54
    assert all(1 <= len(entities) <= 3 for entities in answers.values())


@pytest.mark.slow
def test_predictions_are_the_same_with_two_workers(
    run: TinyRun, tiny_runs: TinyRuns, tiny_data: Path, tmp_path: Path
) -> None:
    one = tiny_runs.predict(run, tiny_data / "all.jsonl", tmp_path / "one.txt")
    assert tiny_runs.predict(run, tiny_data / "all.jsonl", tmp_path / "two.txt", workers=2) == one


def test_a_broken_training_goes_on_at_the_fold_that_is_missing(
    cli: Cli, pooled: TinyRun, tiny_runs: TinyRuns, settings: list[str], tmp_path: Path
) -> None:
    pooled.copy_to(tmp_path)
    path = tmp_path / "models" / "tiny"
    before, table = TinyRun(tmp_path, "tiny").contents, rows(pooled)
    (path / "manifest.json").unlink()
    (path / "cross" / "folds" / "1" / "done.json").unlink()
    (path / "log.jsonl").unlink()
    options = ["seed=7", "workers=1", *settings, *kind_options("pooled")]
    arguments = [part for option in options for part in ("--set", option)]
    done = cli.run(
        *("train", "--preset", "tiny", "--run", "tiny", "--train", tiny_runs.train_file, "--resume", *arguments),
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    assert "stage rerank: done before" in done.err
    assert "stage sentiment: done before" in done.err
    lines = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    assert [(line["stage"], line["fold"]) for line in lines] == [("cross", 1)]
    assert TinyRun(tmp_path, "tiny").contents == before
    assert rows(TinyRun(tmp_path, "tiny")) == table
