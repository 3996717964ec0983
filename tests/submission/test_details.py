"""Details: what stands in them is enough to write the upload file and the CSV again, byte for byte."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.schema import ChosenEntity, Emotion, Mention, Prediction, RunnerUp
from pipeline.submission import SubmissionWriter, chosen_of, details_line, read_details

probs = st.floats(0, 1)
names = st.text(st.sampled_from("松果ab ,\t\n\r\u2028\ud800\u200b"), max_size=4) | st.text(max_size=4)
mentions = st.builds(
    lambda start, surface: Mention("content", start, start + len(surface), surface),
    st.integers(0, 9),
    st.text(min_size=1, max_size=3),
)
entities = st.builds(
    ChosenEntity, names, st.sampled_from(Emotion), probs, st.tuples(probs, probs, probs), st.tuples(mentions)
)
predictions = st.builds(
    Prediction,
    st.text("07ab", min_size=1, max_size=3),
    st.lists(entities, max_size=3, unique_by=lambda entity: entity.name).map(tuple),
    st.lists(st.builds(RunnerUp, names, probs), max_size=2).map(tuple),
)


def written(folder: Path, predictions: list[Prediction]) -> list[bytes]:
    with SubmissionWriter(folder / "s.txt", details=folder / "s.jsonl") as writer:
        for prediction in predictions:
            writer.write(prediction)
    return [(folder / name).read_bytes() for name in ("s.txt", "s.csv", "s.jsonl")]


@given(st.lists(predictions, max_size=3, unique_by=lambda prediction: prediction.news_id))
def test_details_hold_all_that_is_written(given: list[Prediction]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder), given)
        again = [read_details(json.loads(line)) for line in files[2].splitlines(keepends=True)]
        assert written(Path(folder), again) == files
    lines = "".join(details_line(prediction, chosen_of(prediction)) for prediction in given)
    assert lines.encode(errors="backslashreplace") == files[2]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"entities": [], "candidates": []}, "KeyError: 'newsId'"),
        ({"newsId": 7, "entities": [], "candidates": []}, "TypeError: newsId is no text"),
        ({"newsId": "7", "entities": [{"entity": "松果", "emotion": "GOOD"}], "candidates": []}, "ValueError: 'GOOD'"),
        ({"newsId": "7", "entities": 3, "candidates": []}, "TypeError"),
    ],
)
def test_a_row_of_something_else(row: dict[str, object], reason: str) -> None:
    with pytest.raises(DataError, match="not an answer as predict writes it") as error:
        read_details(row)
    assert reason in error.value.message
