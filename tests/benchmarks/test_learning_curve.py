"""The benchmark of learning curves, on invented rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import learning_curve
from benchmarks.learning_curve import extrapolated, parts_of
from pipeline.standalone.heads.rows import read_rows

WORDS = {"POS": "成功获奖", "NEG": "亏损道歉", "NORM": "举行会议"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"text": f"第{number}天云杉公司{WORDS[label]}。", "target": "云杉公司", "polarity": label}
        for number, label in enumerate([*WORDS] * 20)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_smaller_part_lies_within_the_larger_ones_and_none_holds_a_test_row(data: Path) -> None:
    rows = read_rows(data, max_context_chars=200).rows
    parts = parts_of(rows, [10, 20, 1000], n_folds=3, seed=7)
    assert [(part.size, part.fold) for part in parts] == [(size, fold) for fold in range(3) for size in (20, 10)]
    for large, small in zip(parts[::2], parts[1::2], strict=True):
        texts = [{row.example.text for row in part} for part in (large.train, small.train, large.test)]
        assert texts[1] < texts[0]
        assert not texts[0] & texts[2]
        assert (len(large.train), len(small.train)) == (20, 10)


def test_the_line_goes_through_the_largest_sizes() -> None:
    assert extrapolated([100, 1000, 10_000, 10], [0.3, 0.4, 0.5, 0.9], 100_000) == pytest.approx(0.6)


def test_what_was_measured_is_kept(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "curve.jsonl"
    arguments = ["--data", str(data), "--sizes", "12", "36", "--heads", "--out", str(out), "--at", "1000"]
    learning_curve.main(arguments)
    first, table = out.read_bytes(), capsys.readouterr().out
    rows = [json.loads(line) for line in first.splitlines()]
    assert len(rows) == 3 * 2 * 5  # folds, sizes, and three linear members, their average, the most frequent
    assert "| member | 12 | 36 | at 1,000 (extrapolated) |" in table
    learnt = [row["accuracy"] for row in rows if row["member"] == "linear average" and row["size"] == 36]
    assert min(learnt) > 0.9  # one word tells the emotion
    learning_curve.main(arguments)
    assert (out.read_bytes(), capsys.readouterr().out) == (first, table)
