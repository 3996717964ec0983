from __future__ import annotations

import numpy as np
import pytest

from pipeline.entities.relevance import COLUMNS, relevance_columns, with_relevance


def test_worked_by_hand() -> None:
    columns = relevance_columns(np.array([0.25, 0.75, 0.25, 0.5]))
    assert tuple(columns) == COLUMNS
    assert columns["score"].tolist() == [0.25, 0.75, 0.25, 0.5]
    assert columns["rank"].tolist() == [2, 0, 2, 1]
    assert columns["minus_best"].tolist() == [-0.5, 0.0, -0.5, -0.25]


@pytest.mark.parametrize("n", [0, 2])
def test_appended_to_the_features(n: int) -> None:
    names, matrix = with_relevance(["a", "b"], np.ones((n, 2), dtype=np.float32), np.full(n, 0.5))
    assert names == ["a", "b", "relevance.score", "relevance.rank", "relevance.minus_best"]
    assert matrix.shape == (n, 5)
    assert matrix.dtype == np.float32
    assert matrix[:, 2:].tolist() == [[0.5, 0.0, 0.0]] * n
