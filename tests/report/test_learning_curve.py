from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder
from pipeline.data.read import iter_articles
from pipeline.errors import DataError
from pipeline.report import Report
from pipeline.report import learning_curve as module
from pipeline.report.learning_curve import learning_curve, training_files
from pipeline.schema import Article


def test_files_are_those_of_the_command_or_those_given(run: RunFolder, tiny_data: Path, tmp_path: Path) -> None:
    path = tiny_data / "train.jsonl"
    assert training_files(run) == [path]
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(path.read_bytes())
    assert training_files(run, [moved]) == [moved]


def test_other_or_missing_files_are_refused(run: RunFolder, tiny_data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="was trained on other data than"):
        training_files(run, [tiny_data / "all.jsonl"])
    with pytest.raises(DataError, match="no such file"):
        training_files(run, [tmp_path / "gone.jsonl"])


def test_an_article_survives_the_way_through_a_file(tmp_path: Path, tiny_articles: list[Article]) -> None:
    articles = [*tiny_articles[:3], replace(tiny_articles[3], truncated=True, title='a\n"b\u2028c')]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(map(module._line, articles)), encoding="utf-8")
    assert list(iter_articles(path)) == articles


@pytest.mark.slow
def test_points(
    run: RunFolder, gold: list[Article], report: Report, tiny_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PARTS", (0.5,))
    points = learning_curve(run, [tiny_data / "train.jsonl"], gold, workers=1)
    assert [point["n_articles"] for point in points] == [22, 44]
    assert points[-1]["score"] == report.figures["summary"]["score"]["value"]
    assert 0 < points[0]["score"] <= points[-1]["score"] + 0.05
    assert json.loads(json.dumps(points)) == points
