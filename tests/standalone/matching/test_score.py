from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.pair_rows import PairRow
from pipeline.errors import ConfigError, DataError
from pipeline.standalone.matching.scale import LabelScale
from pipeline.standalone.matching.score import LabelFigures, ScoreFigures, Thresholds

PATH = Path("pairs.csv")
SCORED = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), st.sampled_from([0.0, 1.0])), min_size=1, max_size=12
)


def f1_at(cut: float, pairs: list[tuple[float, float]]) -> float:
    hits = sum(score >= cut and label == 1 for score, label in pairs)
    size = sum(score >= cut for score, _ in pairs) + sum(label == 1 for _, label in pairs)
    return 2 * hits / size if size else 0.0


def accuracy_at(cut: float, pairs: list[tuple[float, float]]) -> float:
    return sum((score >= cut) == (label == 1) for score, label in pairs) / len(pairs)


@given(SCORED)
def test_no_other_threshold_is_better(pairs: list[tuple[float, float]]) -> None:
    scores, labels = np.array(pairs).T
    found = Thresholds.best(scores, labels)
    cuts = [0.0, 0.05, 0.15, 0.3, 0.7, 0.95, 1.5]
    assert f1_at(found.f1, pairs) == pytest.approx(max(f1_at(cut, pairs) for cut in cuts))
    assert accuracy_at(found.accuracy, pairs) == pytest.approx(max(accuracy_at(cut, pairs) for cut in cuts))


def test_figures_worked_by_hand() -> None:
    scores, labels = np.array([0.9, 0.6, 0.4, 0.2]), np.array([1.0, 0.0, 1.0, 0.0])
    figures = LabelFigures.of(scores, labels, Thresholds(f1=0.3, accuracy=0.8))
    assert (figures.precision, figures.recall, figures.f1) == (2 / 3, 1.0, 0.8)
    assert figures.accuracy == 0.75
    assert figures.auc == 0.75
    assert figures.log_loss == pytest.approx(-(math.log(0.9) + 2 * math.log(0.4) + math.log(0.8)) / 4)
    assert figures.spearman == pytest.approx(0.4472, abs=1e-4)
    assert "AUC         0.7500" in "\n".join(figures.lines())


def test_figures_of_scores_in_units_of_the_labels() -> None:
    figures = ScoreFigures.of(np.array([0.0, 0.5, 0.8]), np.array([0.0, 0.5, 1.0]), LabelScale(0, 5, is_binary=False))
    assert figures.spearman == pytest.approx(1.0)
    assert figures.pearson == pytest.approx(np.corrcoef([0, 0.5, 0.8], [0, 0.5, 1])[0, 1])
    assert figures.mse == pytest.approx(25 * 0.04 / 3)


def test_figures_that_are_not_there_are_none() -> None:
    figures = LabelFigures.of(np.array([0.5, 0.5]), np.array([1.0, 1.0]), Thresholds(0.5, 0.5))
    assert (figures.auc, figures.spearman) == (None, None)
    assert "AUC              -" in "\n".join(figures.lines())


@pytest.mark.parametrize(
    ("labels", "text", "is_binary"),
    [
        ([0, 1, 1], "0 to 1", True),
        ([0, 0.5, 1], "0 to 1", False),
        ([1, 4.8], "1 to 5", False),
        ([0.2, 5], "0 to 5", False),
        ([0, 88], "0 to 100", False),
    ],
)
def test_ranges_are_recognised(labels: list[float], text: str, is_binary: bool) -> None:
    rows = [PairRow(line, {}, "", "", label) for line, label in enumerate(labels, 1)]
    scale = LabelScale.of(rows, PATH)
    assert (str(scale), scale.is_binary) == (text, is_binary)
    back = [scale.label_of(value) for value in scale.normalised(rows, PATH)]
    assert back == pytest.approx(labels)
    assert LabelScale.from_dict(scale.to_dict(), PATH) == scale


def test_labels_of_no_range_or_outside_of_it_are_refused() -> None:
    rows = [PairRow(4, {}, "", "", -3.0), PairRow(5, {}, "", "", 0.5)]
    with pytest.raises(DataError, match=r"pairs\.csv: labels from -3 to 0\.5 are of no range") as caught:
        LabelScale.of(rows, PATH)
    assert "--score-range" in str(caught.value.hint)
    with pytest.raises(DataError, match=r"pairs\.csv:4: label -3\.0 lies outside of 0 to 5"):
        LabelScale.parse("0,5").normalised(rows, PATH)
    with pytest.raises(DataError, match=r"pairs\.csv:5: label 0\.5 is neither 0 nor 1"):
        LabelScale(0, 1, is_binary=True).normalised(rows[1:], PATH)
    for text in ("5,0", "5", "a,b", "0,inf", "nan,1"):
        with pytest.raises(ConfigError, match="want LOW,HIGH"):
            LabelScale.parse(text)
