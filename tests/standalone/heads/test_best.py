"""Which model of a comparison is kept: that of the best development rows, and models of nothing else are touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.errors import ConfigError
from pipeline.standalone.heads import compare as compare_heads
from pipeline.standalone.heads.best import best_seed
from pipeline.standalone.heads.compare import HeadComparison, compare, load_comparison
from pipeline.standalone.heads.results import HeadResult, ResultFile
from pipeline.standalone.heads.saved import load_head
from tests.cli.heads.rows import documents, lines


def result(seed: int, dev: float, test: float) -> HeadResult:
    return HeadResult("ian", seed, test, test, {}, dev)


@pytest.fixture
def comparison(tmp_path: Path) -> HeadComparison:
    (tmp_path / "rows.jsonl").write_text(lines(documents(20)), encoding="utf-8")
    config = load_config(preset="tiny", overrides=["training.max_epochs=1"])
    return load_comparison(tmp_path / "rows.jsonl", None, config=config, heads=["fast_text"], n_seeds=2)


def test_dev_rows_choose_and_test_rows_do_not() -> None:
    done = {("ian", 7): result(7, 0.5, 0.9), ("ian", 8): result(8, 0.75, 0.1), ("ian", 9): result(9, 0.75, 1.0)}
    done["lstm", 6] = HeadResult("lstm", 6, 1.0, 1.0, {}, 1.0)
    assert best_seed("ian", done) == 8


def test_a_best_training_without_a_model_is_done_again_and_no_other(
    comparison: HeadComparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ResultFile(tmp_path / "a.json")
    table = compare(comparison, kept)
    wanted = best_seed("fast_text", kept.results(comparison.key))
    trained: list[int] = []
    real = compare_heads.train_and_score

    def spy(comparison: HeadComparison, head: str, seed: int) -> HeadResult:
        trained.append(seed)
        return real(comparison, head, seed)

    monkeypatch.setattr(compare_heads, "train_and_score", spy)
    again = compare(comparison, kept, save=tmp_path / "best")
    assert trained == [wanted]
    assert load_head(tmp_path / "best" / "fast_text").model.seed == wanted
    assert [row.accuracy for row in again] == [row.accuracy for row in table]
    compare(comparison, kept, save=tmp_path / "best")
    assert trained == [wanted]


def test_something_else_in_the_folder_is_refused_before_the_work(comparison: HeadComparison, tmp_path: Path) -> None:
    (tmp_path / "best" / "fast_text").mkdir(parents=True)
    (tmp_path / "best" / "fast_text" / "settings.json").write_text(json.dumps({"seed": 7}))
    with pytest.raises(ConfigError, match="fast_text: exists already, and is of no such comparison"):
        compare(comparison, ResultFile(None), save=tmp_path / "best")
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["fast_text"]


def test_an_interruption_leaves_no_half_model(
    comparison: HeadComparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = compare_heads.save_head

    def stop(*arguments: object, **options: object) -> None:
        real(*arguments, **options)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(compare_heads, "save_head", stop)
    with pytest.raises(KeyboardInterrupt):
        compare(comparison, ResultFile(None), save=tmp_path / "best")
    assert not (tmp_path / "best").exists()
