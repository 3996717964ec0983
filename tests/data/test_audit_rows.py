"""The audit of rows that are no articles."""

from __future__ import annotations

from pathlib import Path

from pipeline.data.audit import audit, format_audit
from tests.support.paths import FILES

INPUTS = FILES / "inputs"
ROWS = (
    "text,target,polarity\n青禾好,青禾,POS\n青禾好,青禾,NEG\n云杉坏,云杉,负面\n云杉坏,云杉,负面\n好,,POS\n坏,坏,angry\n"
)


def test_target_rows_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    report = audit([path])
    assert report.files == []
    (item,) = report.rows
    assert (item.kind, item.n_rows, item.n_malformed, report.n_malformed) == ("targets", 4, 2, 2)
    assert item.labels == {"NEG": 3, "POS": 1}
    assert (item.n_repeated_texts, item.n_contradicting, item.longest_text) == (1, 1, 3)
    assert item.malformed_examples[0] == f"{path}:6: target is '', want text"
    assert item.malformed_examples[1].startswith(f"{path}:7: label 'angry' is not one of POS, NORM, NEG")
    assert "  malformed rows                 2" in format_audit(report).splitlines()


def test_texts_of_one_file_in_another_are_told(tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.jsonl"
    train.write_text("text,label\n甲,1\n乙,0\n甲,1\n", encoding="utf-8")
    test.write_text('{"text": "甲", "label": 1}\n', encoding="utf-8")
    report = audit([train, test, INPUTS / "array_pretty.json"])
    assert [item.kind for item in report.rows] == ["documents", "documents"]
    (shared,) = report.shared_texts
    assert (shared.n_texts, shared.n_rows) == (1, (2, 1))
    text = format_audit(report)
    assert f"{train} and {test} share 1 texts (2 and 1 examples)" in text
    assert "articles" in text


def test_marked_entities_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "青禾好", "entities": [{"type": "ORG", "from": 0, "to": 2}]}\n', encoding="utf-8")
    report = audit([path])
    assert (report.rows[0].kind, report.rows[0].labels, report.n_malformed) == ("entities", {"ORG": 1}, 0)
    path.write_text('{"text": "青禾好", "entities": [{"type": "ORG", "from": 0, "to": 9}]}\n', encoding="utf-8")
    assert audit([path]).n_malformed == 1
