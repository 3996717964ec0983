from __future__ import annotations

import pytest

from pipeline.artifacts import RunFolder
from pipeline.report import Report
from pipeline.report.compare_runs import STATES, compare_runs
from pipeline.report.terminal import comparison_text
from pipeline.schema import Article
from tests.support.command_line import TinyRuns


@pytest.fixture(scope="module")
def other(tiny_runs: TinyRuns) -> RunFolder:
    """Return a run that is worse: two trees, and one entity an article."""
    run = tiny_runs.train(overrides=["rerank.n_estimators=2", "rerank.max_entities=1"])
    return RunFolder.load(run.path)


def test_a_run_does_not_differ_from_itself(run: RunFolder, gold: list[Article]) -> None:
    figures, changed = compare_runs(run, run, gold, workers=1)
    assert changed == figures["transitions"] == []
    assert figures["n_changed"] == 0
    assert all(row["delta"] == row["low"] == row["high"] == 0 for row in figures["figures"].values())


def test_changes_are_counted_and_explained(
    run: RunFolder, other: RunFolder, gold: list[Article], report: Report
) -> None:
    figures, changed = compare_runs(run, other, gold, workers=1)
    n_gold = report.figures["gold"]["n_gold"]
    assert sum(row["n"] for row in figures["transitions"]) + sum(figures["unchanged"].values()) == n_gold
    assert figures["n_changed"] == len(changed) > 0
    score = figures["figures"]["score"]
    assert score["base"] == report.figures["summary"]["score"]["value"]
    assert score["other"] - score["base"] == pytest.approx(score["delta"], abs=2e-6)
    assert score["low"] <= score["delta"] <= score["high"]
    assert sum(row["delta"] for row in changed) / len(gold) == pytest.approx(score["delta"], abs=1e-5)
    moves = [(item["before"], item["after"]) for row in changed for item in row["entities"] if item["before"] in STATES]
    listed = {(row["before"], row["after"]): row["n"] for row in figures["transitions"]}
    assert {move: moves.count(move) for move in moves}.items() <= listed.items()
    stray = [item for row in changed for item in row["entities"] if item["before"] == "spurious"]
    assert len(stray) == figures["spurious"]["gone"]
    text = comparison_text(figures, changed)
    assert f"{len(changed)} of {len(gold)} articles" in text
    assert changed[0]["id"] in text
