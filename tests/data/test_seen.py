"""Texts that a model was trained on: known again by their hashes, and told in one line."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pipeline.data.seen import SEEN, SeenRows, SeenTexts, pair_key, tell_seen, text_key
from pipeline.errors import ArtifactError

TRAIN = ("青禾咖啡涨价", "云杉汽车降价", " ")


def test_texts_are_known_again_by_what_is_kept_in_a_folder(tmp_path: Path) -> None:
    SeenTexts.of(map(text_key, TRAIN)).save(tmp_path)
    kept = json.loads((tmp_path / SEEN).read_bytes())
    assert [len(item) for item in kept] == [16, 16]  # 8 bytes each; a blank text is none
    seen = SeenTexts.load(tmp_path)
    assert text_key("青禾咖啡涨价") in seen
    assert text_key("云杉汽车降價") not in seen
    assert " " not in seen
    both = seen | SeenTexts.of(["新"])
    assert "新" in both
    assert text_key("青禾咖啡涨价") in both


def test_a_model_of_before_knows_nothing_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    assert not SeenTexts.load(tmp_path)
    (tmp_path / SEEN).write_text('{"a": 1}')
    with pytest.raises(ArtifactError, match=r"seen\.json: damaged, holds no list of hashes"):
        SeenTexts.load(tmp_path)


def test_pairs_are_the_same_in_any_order() -> None:
    assert pair_key("青禾", "云杉") == pair_key("云杉 ", "青禾") != pair_key("青禾", "青禾")


def test_rows_that_are_known_are_counted_once_and_told(caplog: pytest.LogCaptureFixture) -> None:
    seen = SeenTexts.of(TRAIN)
    with caplog.at_level(logging.WARNING):
        tell_seen(("新", "旧"), seen, "dev.jsonl")
        tell_seen(TRAIN, SeenTexts(), "dev.jsonl")
        assert caplog.messages == []
        tell_seen((*TRAIN, "新"), seen, "dev.jsonl", rows="pairs", whose="a training pair")
        rows = SeenRows(seen)
        assert list(rows.watch(TRAIN[:1], str)) == ["青禾咖啡涨价"]
        rows.tell()
    assert caplog.messages == [
        "dev.jsonl: 2 of 4 pairs have the text of a training pair; figures on such rows are too good",
        "1 of 1 rows have the text of a training row; figures on such rows are too good",
    ]
