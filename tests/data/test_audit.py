"""The audit: every count on a small file worked out by hand, overlaps, and that bad rows do not stop it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.data.audit import LengthSummary, audit, format_audit
from pipeline.errors import DataError
from tests.support.paths import SAMPLE

STORY = "青禾咖啡今天宣布全线涨价，云杉汽车同日降价，松果手机没有回应记者的提问，银杏书店照常营业。"


def row(news_id: str, title: str, content: str, *pairs: tuple[str, str], **extra: object) -> str:
    entries = [{"entity": name, "emotion": emotion} for name, emotion in pairs]
    fields = {"newsId": news_id, "title": title, "content": content, "coreEntityEmotions": entries}
    return json.dumps({**fields, **extra}, ensure_ascii=False)


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    lines = [
        row("a1", "青禾咖啡涨价", STORY, ("青禾咖啡", "NEG"), ("云杉汽车", "POS"), ("青禾咖啡", "POS")),
        row("a2", "转载", STORY, ("松果手机", "NORM"), (" ", "POS"), truncated=True),
        "{broken",
        row("a2", "VIVO新品", "长" * 510, ("vivo", "POS"), ("无名", "POS")),
        row("a3", "", " "),
        json.dumps({"newsId": "a4", "title": "无标签", "content": "\ud800"}),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def test_rows(tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    lines = [
        json.dumps({"newsId": "a1", "title": "别的", "content": "别的内容"}),
        json.dumps({"newsId": "b1", "title": "晚报", "content": f"{STORY}完。"}),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_audit_counts_what_is_in_a_file(train: Path) -> None:
    [item] = audit([train]).files
    assert (item.n_articles, item.n_labelled, item.n_repeated_ids) == (5, 4, 1)
    assert (item.n_empty_texts, item.n_truncated, item.n_long) == (1, 1, 1)
    assert item.entities_per_article == {"0": 1, "1": 1, "2": 2}
    assert item.emotions == {"POS": 3, "NORM": 1, "NEG": 1}
    assert (item.n_entities, item.n_mixed_emotions, item.n_entities_in_title) == (5, 1, 1)
    assert (item.n_entities_once, item.n_entities_twice_or_more, item.n_entities_absent) == (2, 1, 2)
    assert item.n_entities_absent_matched == 1
    assert (item.n_near_duplicate_groups, item.n_near_duplicates) == (1, 2)
    assert item.lengths["content"] == LengthSummary(1, len(STORY), 510, 510)
    assert item.lengths["title"].longest == 6
    assert (item.reading["bad_row"], item.reading["repeated_entity"], item.reading["empty_entity"]) == (1, 1, 1)
    assert item.reading["lone_surrogate"] == 1
    assert item.reading["bad_row_examples"][0].startswith(f"{train}:3: not JSON")


def test_audit_finds_what_files_share(train: Path, test_rows: Path) -> None:
    [overlap] = audit([train, test_rows]).overlaps
    assert overlap.paths == (str(train), str(test_rows))
    assert (overlap.n_shared_ids, overlap.n_other_text) == (1, 1)
    assert overlap.n_near_duplicates == (2, 1)


def test_audit_takes_a_file_once(train: Path) -> None:
    report = audit([train, train])
    assert len(report.files) == 1
    assert report.overlaps == []


def test_audit_of_the_sample_finds_no_fault() -> None:
    report = audit([SAMPLE / f"{name}.jsonl" for name in ("train", "dev", "test")])
    assert [item.n_articles for item in report.files] == [130, 20, 30]
    assert report.overlaps == []
    for item in report.files:
        assert (item.reading["bad_row"], item.n_repeated_ids, item.n_entities_absent) == (0, 0, 0)
        assert sum(item.emotions.values()) == item.n_entities
        assert sum(item.entities_per_article.values()) == item.n_articles


def test_audit_of_a_file_without_articles_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{\n" * 30, encoding="utf-8")
    report = audit([path])
    assert report.files[0].lengths["title"] == LengthSummary()
    assert "Malformed rows of" in format_audit(report)
    assert "(20 of 30):" in format_audit(report)


def test_audit_of_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        audit([tmp_path / "absent.jsonl"])


def test_report_is_json_ready(train: Path, test_rows: Path) -> None:
    values = audit([train, test_rows]).to_dict()
    assert json.loads(json.dumps(values))["files"][0]["lengths"]["title"]["longest"] == 6


def test_format_audit_shows_a_column_for_each_file(train: Path, test_rows: Path) -> None:
    text = format_audit(audit([train, test_rows]))
    lines = [line.split() for line in text.splitlines()]
    assert ["articles", "5", "2"] in lines
    assert ["with", "2", "entities", "2", "(50.0%)", "-"] in lines
    assert f"  {train}:3: not JSON" in text
    assert f"Rows of {train} that repeat a newsId (1: 1 with another text, 0 with contradicting labels):" in text
    assert f"  a2 at {train}:4 (first at {train}:2, another text)" in text
    assert "  [1] and [2]: 1 newsIds (1 with another text); near-duplicates: 2 articles of [1], 1 of [2]" in text
    assert text.splitlines()[0] == f"[1] {train}"


def test_lengths_are_lengths_that_occur() -> None:
    assert LengthSummary.of(range(1, 11)) == LengthSummary(1, 5, 9, 10)
