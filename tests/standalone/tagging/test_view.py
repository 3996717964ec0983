"""The view of a row: lines that align whatever the characters, and colours that change no character."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.standalone.tagging.view import MARGIN, format_row, type_colours
from pipeline.text.spans import Span
from pipeline.text.terminal import columns, padded, shown

TEXT = "李雷加入云杉SUV汽车"
GOLD = [Span(0, 2, "人"), Span(4, 11, "公司")]
PRED = [Span(0, 2, "人"), Span(4, 6, "公司")]
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, list[Span], list[Span]]:
    text = draw(st.text(st.sampled_from("青禾Ａb1。“😀\u0301\u200b\u202e\n\t\x1b\ud800é"), max_size=40))

    def spans() -> list[Span]:
        pairs = draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=4))
        labels = st.sampled_from(["人", "公司", ""])
        return [Span(min(pair), max(pair), draw(labels)) for pair in pairs if pair[0] != pair[1]]

    return text, spans(), spans()


def lanes(view: str) -> list[tuple[str, str, str]]:
    """Return the text, gold and pred lines of each fold, without margins."""
    lines = [line for line in view.split("\n") if line.startswith(("text ", "gold ", "pred "))]
    bodies = [line[MARGIN:] for line in lines]
    return list(zip(bodies[::3], bodies[1::3], bodies[2::3], strict=True))


def test_the_view_of_a_row() -> None:
    assert format_row(TEXT, GOLD, PRED).split("\n") == [
        "text  李雷加入云杉SUV汽车",
        "gold  李雷＊＊云杉SUV汽车",
        "pred  李雷＊＊云杉***＊＊",
        "right  人 李雷",
        "missed 公司 云杉SUV汽车",
        "wrong  公司 云杉",
    ]


def test_a_row_without_spans_is_all_stars() -> None:
    assert format_row("青a。", [], []) == "text  青a。\ngold  ＊*＊\npred  ＊*＊"
    assert format_row("", [], []) == "text  \ngold  \npred  "


def test_spans_without_type_have_no_type_in_the_view() -> None:
    assert format_row("青禾", [Span(0, 1)], []).split("\n")[-1] == "missed 青"


@given(rows(), st.none() | st.integers(1, 60))
def test_lines_align_and_lose_no_character(row: tuple[str, list[Span], list[Span]], width: int | None) -> None:
    text, gold, pred = row
    folds = lanes(format_row(text, gold, pred, width=width))
    assert "".join(fold[0] for fold in folds) == shown(text)
    for fold in folds:
        assert len({columns(line) for line in fold}) == 1
        assert width is None or columns(fold[0]) <= max(width, 20) - MARGIN
    for lane, spans in ((1, gold), (2, pred)):
        covered = {index for span in spans for index in range(span.start, span.stop)}
        kept = "".join(char if index in covered else "*" * columns(shown(char)) for index, char in enumerate(text))
        assert "".join(fold[lane] for fold in folds).replace("＊", "**") == shown(kept)


@given(rows(), st.none() | st.integers(1, 60))
def test_colours_change_no_character(row: tuple[str, list[Span], list[Span]], width: int | None) -> None:
    text, gold, pred = row
    plain = format_row(text, gold, pred, width=width)
    colored = format_row(text, gold, pred, width=width, colours=type_colours(["公司", "人"]))
    assert _ANSI.sub("", colored) == plain
    assert "\x1b" not in plain
    if gold or pred:
        assert "\x1b" in colored


def test_types_have_colours_of_their_own_and_errors_are_underlined() -> None:
    colours = type_colours(["公司", "人"])
    assert colours == {"人": "32", "公司": "33"}
    lines = format_row(TEXT, GOLD, PRED, colours=colours).split("\n")
    assert lines[2] == "pred  \x1b[32m李雷\x1b[0m＊＊\x1b[33;4m云杉\x1b[0m***＊＊"
    assert lines[5] == "wrong  公司 \x1b[33m云杉\x1b[0m"
    assert len(set(type_colours([f"T{number}" for number in range(10)]).values())) == 10
    assert set(type_colours([f"T{number}" for number in range(30)])) == {f"T{number}" for number in range(30)}


def test_text_cannot_command_the_terminal() -> None:
    view = format_row("青\x1b[31m禾\r云\u202e杉", [Span(0, 7, "\x1b[1m")], [])
    assert "\x1b" not in view
    assert "\r" not in view
    assert "\u202e" not in view


@pytest.mark.parametrize(("text", "width"), [("青a", 3), ("ｶ。", 3), ("e\u0301", 1), ("😀", 2), ("“×”", 3), ("", 0)])
def test_columns_of_a_line(text: str, width: int) -> None:
    assert columns(text) == width
    assert padded(text, 5) == text + " " * (5 - width)
