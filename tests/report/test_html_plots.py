from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.invented_report import figures
from pipeline.report.html import plots
from pipeline.report.html.markup import Html
from pipeline.report.html.svg import Frame, around, even_ticks, percent, signed
from pipeline.report.html.texts import REASONS, texts

WORDS = texts("en")
SVG = "{http://www.w3.org/2000/svg}"

PLOTS: dict[str, Callable[[dict[str, Any]], Html]] = {
    "interval_bar": lambda all_: plots.interval_bar(all_["summary"]["score"], reference=0.4),
    "score_scale": lambda all_: plots.score_scale(all_["summary"]["score"], {"random <": 0.03, "people & co": 0.605}),
    "cost_bar": lambda all_: plots.cost_bar(4.2, 9.0),
    "attribution_bar": lambda all_: plots.attribution_bar(all_["attribution"], WORDS),
    "recall_curve": lambda all_: plots.recall_curve(all_["recall_at_k"], WORDS),
    "threshold_plot": lambda all_: plots.threshold_plot(all_["threshold_curve"], WORDS),
    "reliability_plot": lambda all_: plots.reliability_plot(all_["emotion"]["reliability"], WORDS),
    "confusion_heat": lambda all_: plots.confusion_heat(*_confusion(all_), WORDS),
    "learning_plot": lambda all_: plots.learning_plot(all_["learning_curve"], WORDS),
}


def _confusion(all_: dict[str, Any]) -> tuple[list[str], list[list[int]]]:
    return all_["emotion"]["classes"], all_["emotion"]["confusion"]


@pytest.mark.parametrize("name", PLOTS)
def test_plots_are_well_formed_and_say_what_they_show(name: str) -> None:
    picture = ET.fromstring(PLOTS[name](figures()))
    assert picture.tag == f"{SVG}svg"
    assert picture.find(f"{SVG}title") is not None
    assert picture.attrib["viewBox"].split()[:2] == ["0", "0"]


@pytest.mark.parametrize("name", PLOTS)
def test_plots_hold_no_colour_of_their_own(name: str) -> None:
    for element in ET.fromstring(PLOTS[name](figures())).iter():
        assert element.attrib.get("fill", "none") == "none"
        assert "style" not in element.attrib
        assert "stroke" not in element.attrib


def test_attribution_bar_is_as_wide_as_its_counts() -> None:
    attribution = figures()["attribution"]
    boxes = ET.fromstring(plots.attribution_bar(attribution, WORDS)).findall(f".//{SVG}rect")
    widths = {box.attrib["class"].split()[1]: float(box.attrib["width"]) for box in boxes}
    assert sum(widths.values()) == pytest.approx(100, abs=0.1)
    assert widths["ranked_out"] == pytest.approx(100 * 58 / 260, abs=0.01)
    assert set(widths) == {"right_emotion", "wrong_emotion", *REASONS}


def test_outcomes_that_did_not_occur_take_no_room() -> None:
    nothing = {"missed": {"pruned": 2}, "hits": {"right_emotion": 0, "wrong_emotion": 0}}
    boxes = ET.fromstring(plots.attribution_bar(nothing, WORDS)).findall(f".//{SVG}rect")
    assert [box.attrib["width"] for box in boxes] == ["100"]


def test_interval_bar_draws_value_and_interval_to_scale() -> None:
    bar = ET.fromstring(plots.interval_bar({"value": 0.5, "low": 0.4, "high": 0.65}))
    boxes = {box.attrib["class"]: box.attrib for box in bar.findall(f"{SVG}rect")}
    assert float(boxes["bar"]["width"]) == 50
    assert (float(boxes["interval"]["x"]), float(boxes["interval"]["width"])) == (40, 25)
    assert bar.find(f"{SVG}title").text == "50.0 % [40.0 – 65.0]"


def test_confusion_heat_is_darker_for_a_larger_share_of_its_row() -> None:
    picture = ET.fromstring(plots.confusion_heat(["POS", "NORM", "NEG"], [[8, 2, 0], [0, 0, 0], [1, 1, 2]], WORDS))
    shades = [float(cell.attrib["fill-opacity"]) for cell in picture.iter(f"{SVG}rect")]
    assert shades[0] > shades[1] > shades[2]
    assert shades[3:6] == [0.06] * 3
    assert [text.text for text in picture.iter(f"{SVG}text") if text.attrib["class"] == "cell-count"] == list(
        "820000112"
    )


def test_a_curve_of_one_point_and_equal_values_can_be_drawn() -> None:
    ET.fromstring(plots.recall_curve([{"k": 1, "recall": 1.0}], WORDS))
    flat = {"points": [{"floor": 0.1, "entity_f1": 0.0}], "chosen": {"floor": 0.3, "share_of_top": 0.0}}
    assert "chosen" not in plots.threshold_plot(flat, WORDS)
    ET.fromstring(
        plots.reliability_plot([{"low": 0.3, "high": 0.4, "n": 0, "confidence": None, "accuracy": None}], WORDS)
    )


@given(low=st.floats(0, 0.9), width=st.floats(0.01, 1))
def test_ticks_are_few_round_and_inside(low: float, width: float) -> None:
    ticks = even_ticks(low, low + width)
    assert 1 <= len(ticks) <= 7
    assert all(low - 1e-6 <= tick <= low + width + 1e-6 for tick in ticks)


@given(values=st.lists(st.floats(0, 1), min_size=1))
def test_around_holds_all_values_and_is_never_empty(values: list[float]) -> None:
    low, high = around(values)
    assert 0 <= low <= min(values)
    assert max(values) <= high <= 1
    assert high > low


def test_frame_turns_data_into_places() -> None:
    frame = Frame((0, 10), (0, 1))
    assert frame.x(0) < frame.x(10)
    assert frame.y(0) > frame.y(1)


def test_numbers_as_people_write_them() -> None:
    assert percent(0.5067, 1) == "50.7 %"
    assert (signed(3.04), signed(-0.01), signed(-2.5)) == ("+3.0", "0.0", "−2.5")
