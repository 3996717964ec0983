"""Rows with a sentiment under anybody's keys: the right values, and what is told of them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pipeline.data.formats.sentiment import iter_sentiment_objects, target_examples
from pipeline.data.read import Reading
from pipeline.data.reading import parse_label_map
from pipeline.errors import DataError
from tests.support.paths import FILES

INPUTS = FILES / "inputs"


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def test_an_aspect_is_a_target_and_its_label_a_polarity(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    path = INPUTS / "sent_aspect_key.jsonl"
    rows = [row for _, row in iter_sentiment_objects(path)]
    assert len(rows) == 90
    assert (rows[0]["target"], rows[0]["polarity"]) == ("星渚大学", "POS")
    assert [row["polarity"] for row in rows].count("NORM") == 30
    said = "\n".join(caplog.messages)
    assert "labels: negative -> NEG (30), neutral -> NORM (30), positive -> POS (30)" in said
    assert "columns read: aspect as target, label as polarity (--columns settles it)" in said


def test_every_form_of_one_file_gives_the_same_rows(tmp_path: Path) -> None:
    want = [
        (row["text"], row["target"], row["polarity"]) for _, row in iter_sentiment_objects(INPUTS / "sent_neu.jsonl")
    ]
    assert len(want) == 90
    for name in ("sent.csv", "absa.seg.txt"):  # both were cut off within a character
        found, path = [], tmp_path / name
        whole = (INPUTS / name).read_bytes()
        with pytest.raises(DataError, match="the file ends within a character: it was cut off"):
            list(iter_sentiment_objects(INPUTS / name))
        n_lines = whole.count(b"\n") if name == "sent.csv" else whole.count(b"\n") // 3 * 3
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:n_lines]))
        found = [(row["text"], row["target"], row["polarity"]) for _, row in iter_sentiment_objects(path)]
        assert len(found) > 60
        assert found == want[: len(found)]


def test_numbers_are_explained_or_refused(tmp_path: Path) -> None:
    rows = [{"text": "青禾好", "target": "青禾", "polarity": number} for number in (0, 1, 2)]
    path = write(tmp_path / "rows.jsonl", *rows)
    with pytest.raises(DataError, match=r"rows\.jsonl:1: label 0 is a number, and what 0, 1, 2 mean") as caught:
        list(iter_sentiment_objects(path))
    assert "--label-map 0=NEG,1=NORM,2=POS" in str(caught.value.hint)
    reading = Reading(labels=parse_label_map("0=skip,1=NORM,2=POS"))
    assert [row["polarity"] for _, row in iter_sentiment_objects(path, reading)] == ["NORM", "POS"]
    rows[0]["polarity"] = -1
    with pytest.raises(DataError, match="what -1, 1, 2 mean"):
        list(iter_sentiment_objects(write(path, *rows)))


def test_documents_keep_their_labels_unless_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rows = [{"sentence": "好", "sentiment": 1, "id": 7}, {"sentence": "坏", "sentiment": 0, "id": 8}]
    path = write(tmp_path / "rows.jsonl", *rows)
    assert [row["label"] for _, row in iter_sentiment_objects(path)] == [1, 0]
    assert f"{path}: not read beside the text: id" in caplog.messages
    reading = Reading(labels=parse_label_map("1=POS,0=skip"))
    assert [(row["text"], row["label"]) for _, row in iter_sentiment_objects(path, reading)] == [("好", "POS")]


def test_targets_that_are_not_in_the_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rows = [
        {"text": "青禾好", "target": "青禾", "polarity": "POS"},
        {"text": "好", "target": "价格", "polarity": "NEG"},
        {"text": "云杉坏", "targets": [{"target": "云杉", "polarity": "负面"}, {"target": "服务", "polarity": "POS"}]},
    ]
    path = write(tmp_path / "rows.jsonl", *rows)
    found = [row for _, row in iter_sentiment_objects(path)]
    assert found == [rows[0], {"text": "云杉坏", "targets": [{"target": "云杉", "polarity": "NEG"}]}]
    assert f"{path}: 2 of 4 targets are not in their text and were left out (first: '价格')" in caplog.messages
    with pytest.raises(DataError, match="none of its 1 targets is in its text") as caught:
        list(iter_sentiment_objects(write(path, rows[1])))
    assert "--columns category=target" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("more", "mentions"),
    [
        ({}, ((0, 2), (3, 5), (6, 8))),
        ({"occurrence": 2}, ((3, 5),)),
        ({"occurrence": "3"}, ((6, 8),)),
        ({"from": "3", "to": "5"}, ((3, 5),)),
    ],
)
def test_where_a_target_is(tmp_path: Path, more: dict[str, object], mentions: tuple[tuple[int, int], ...]) -> None:
    path = write(tmp_path / "rows.jsonl", {"text": "青禾比青禾更青禾", "target": "青禾", "polarity": "POS", **more})
    ((_, row),) = iter_sentiment_objects(path)
    ((example, label),) = target_examples(row)
    assert (example.start, example.stop) == mentions[0]
    assert example.mentions == mentions
    assert label == "POS"


def test_an_occurrence_that_is_not_there(tmp_path: Path) -> None:
    row = {"text": "青禾比青禾", "target": "青禾", "polarity": "POS", "occurrence": 3}
    with pytest.raises(DataError, match="occurrence is 3, the target '青禾' occurs 2 times"):
        list(target_examples(row))
