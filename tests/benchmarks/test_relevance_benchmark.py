"""The benchmark of relevance columns, on a tiny run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.relevance import main
from tests.support.command_line import TinyRun, TinyRuns

OPTIONS = ("relevance.training.max_epochs=1", "relevance.hidden_dim=4", "relevance.embedding_dim=4")


@pytest.fixture(scope="module")
def run(tiny_runs: TinyRuns) -> TinyRun:
    return tiny_runs.train(overrides=["sentiment.members=[majority]"])


def test_a_row_for_each_matcher_and_loss(
    run: TinyRun, tiny_runs: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    before = run.contents
    monkeypatch.chdir(run.cwd)
    chosen = ["--loss", "bce", "--loss", "mse", *(word for option in OPTIONS for word in ("--set", option))]
    files = ["--folder", str(tmp_path / "work"), "--json", str(tmp_path / "rows.json")]
    main(["--run", run.name, "--train", str(tiny_runs.train_file), *chosen, *files])
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert [(row["matcher"], row["loss"]) for row in rows] == [
        (matcher, loss) for matcher in ("malstm", "soft_align") for loss in ("bce", "mse")
    ]
    for row in rows:
        gain = row["entity_f1"]
        assert 0.0 <= row["auc"] <= 1.0
        assert gain["low"] <= gain["delta"] <= gain["high"]
    assert capsys.readouterr().out.count("| malstm | ") == 2
    assert run.contents == before
