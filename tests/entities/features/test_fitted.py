"""Columns that rest on other articles, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.entities.features import KeyCounts
from pipeline.entities.features.fitted import hit_rate, idf

COUNTS = KeyCounts(n_articles=9, n_offered=40, n_gold=8, table={"松果": (4, 3), "云杉": (9, 0)})
KEYS = ["松果", "云杉", "无"]
TF = np.array([3.0, 5.0, 1.0])


def test_idf_worked_by_hand() -> None:
    columns = idf(KEYS, TF, COUNTS)
    values = [math.log(10 / 5), math.log(10 / 10), math.log(10 / 1)]
    weighted = [3 * values[0], 0.0, values[2]]
    assert list(columns) == ["idf", "tf_idf", "tf_idf_rank", "tf_idf_share"]
    assert columns["idf"] == pytest.approx(values)
    assert columns["tf_idf"] == pytest.approx(weighted)
    assert columns["tf_idf_rank"].tolist() == [1, 2, 0]
    assert columns["tf_idf_share"] == pytest.approx([weighted[0] / weighted[2], 0, 1])


def test_hit_rate_worked_by_hand() -> None:
    columns = hit_rate(KEYS, COUNTS, smoothing=5.0)
    assert list(columns) == ["hit_rate", "n_offered", "n_gold"]
    assert columns["hit_rate"] == pytest.approx([4 / 9, 1 / 14, 1 / 5])
    assert columns["n_offered"].tolist() == [4, 9, 0]
    assert columns["n_gold"].tolist() == [3, 0, 0]


def test_names_found_everywhere_have_no_infinite_share() -> None:
    columns = idf(["云杉"], np.array([5.0]), COUNTS)
    assert columns["tf_idf_share"].tolist() == [0.0]


def test_nothing_fitted_and_no_candidates() -> None:
    empty = KeyCounts(0, 0, 0, {})
    for keys, tf in ((KEYS, TF), ([], np.zeros(0))):
        for name, column in {**idf(keys, tf, empty), **hit_rate(keys, empty, 5.0)}.items():
            assert column.shape == (len(keys),), name
            assert np.isfinite(column).all(), name
