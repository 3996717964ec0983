"""Articles of several training files: ids that meet, and files given twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.data.read import Finding, ReadReport, read_training
from pipeline.schema import Emotion, Entity
from tests.support.rows import row, text_of


def write(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    (folder / name).write_text(text_of(*rows), encoding="utf-8")
    return folder / name


def test_of_ids_that_clash_between_training_files_the_first_stays(tmp_path: Path) -> None:
    first = write(tmp_path, "first.jsonl", row("a", "甲社"), row("b", "乙社"))
    second = write(tmp_path, "second.jsonl", row("b", "丙社", emotion="NEG"), row("c", "丁社"))
    report = ReadReport()
    articles = read_training([first, second], report=report)
    assert {article.news_id: article.entities for article in articles} == {
        "a": (Entity("甲社", Emotion.POS),),
        "b": (Entity("乙社", Emotion.POS),),
        "c": (Entity("丁社", Emotion.POS),),
    }
    assert (report.n_articles, report.counts[Finding.REPEATED_ID]) == (3, 1)
    other_way = read_training([second, first])
    assert [article.entities for article in other_way if article.news_id == "b"] == [(Entity("丙社", Emotion.NEG),)]


def test_ids_that_differ_by_a_leading_zero_do_not_clash(tmp_path: Path) -> None:
    first, second = (write(tmp_path, f"{n}.jsonl", row(n, "甲社")) for n in ("7", "007"))
    assert [article.news_id for article in read_training([first, second])] == ["7", "007"]


def test_one_file_given_twice_counts_once(tmp_path: Path) -> None:
    file = write(tmp_path, "train.jsonl", row("a", "甲社"), row("b", "乙社"))
    report = ReadReport()
    assert len(read_training([file, file], report=report)) == 2
    assert report.counts[Finding.REPEATED_ID] == 2
