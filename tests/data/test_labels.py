"""Labels: usual spellings, the user's map, and numbers that nobody explained."""

from __future__ import annotations

import pytest

from pipeline.data.labels import LabelMap, LabelReader
from pipeline.data.reading import Reading, parse_columns, parse_label_map
from pipeline.errors import ConfigError, DataError
from pipeline.schema import Emotion


@pytest.mark.parametrize(
    ("label", "emotion"),
    [
        *((label, Emotion.POS) for label in ("POS", " positive ", "正面", "积极", "好评")),
        *((label, Emotion.NORM) for label in ("NORM", "NEU", "neutral", "中性")),
        *((label, Emotion.NEG) for label in ("neg", "Negative", "负面", "消极")),
    ],
)
def test_usual_spellings(label: str, emotion: Emotion) -> None:
    assert LabelReader(LabelMap()).read(label) is emotion


def test_numbers_are_read_where_minus_one_explains_them() -> None:
    reader = LabelReader(LabelMap(), frozenset({"-1", "0", "1"}))
    assert [reader.read(label) for label in (1, "0", -1.0, "+1")] == [
        Emotion.POS,
        Emotion.NORM,
        Emotion.NEG,
        Emotion.POS,
    ]
    assert reader.summary() == "labels: +1 -> POS (1), -1.0 -> NEG (1), 0 -> NORM (1), 1 -> POS (1)"


@pytest.mark.parametrize(
    ("numbers", "hint"),
    [
        ({"0", "1"}, "--label-map 0=NEG,1=POS"),
        ({"0", "1", "2"}, "--label-map 0=NEG,1=NORM,2=POS"),
        ({"-1", "0", "1", "2"}, "--label-map -1=NEG,0=NORM,1=POS"),
    ],
)
def test_other_numbers_are_not_guessed(numbers: set[str], hint: str) -> None:
    with pytest.raises(DataError, match=r"label 1 is a number, and what (-1, )?0, 1") as caught:
        LabelReader(LabelMap(), frozenset(numbers)).read("1")
    assert hint in str(caught.value.hint)


def test_the_users_map_goes_first_and_skips() -> None:
    labels = parse_label_map("conflict=skip, 2=POS,positive=负面")
    reader = LabelReader(labels)
    assert [reader.read(label) for label in ("Conflict", 2, "positive", "NEG")] == [
        None,
        Emotion.POS,
        Emotion.NEG,
        Emotion.NEG,
    ]
    assert "Conflict left out (1)" in str(reader.summary())
    with pytest.raises(DataError, match="label 'angry' is not one of POS, NORM, NEG") as caught:
        reader.read("angry")
    assert "--label-map angry=NEG" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["a", "=x", "a=1,a=2", ""])
def test_pairs_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="want pairs joined by commas"):
        parse_columns(text)


def test_a_meaning_that_is_none() -> None:
    with pytest.raises(ConfigError, match="--label-map 2=good: want POS, NORM, NEG or skip"):
        parse_label_map("2=good")


def test_reading_survives_a_file() -> None:
    reading = Reading("csv", "gb18030", {"title": "headline"}, parse_label_map("2=POS"))
    assert Reading.of(reading.to_dict()) == reading
    assert Reading.of(None) == Reading()
