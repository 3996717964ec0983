"""A figure with its interval, as the report states it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.metric import FIGURES

Figure = dict[str, float | None]
"""``value`` with ``low`` and ``high``, a 95 % bootstrap interval over articles; the bounds may be None."""

PLACES = 6


def figure(value: float, resampled: NDArray[np.float64] | None = None) -> Figure:
    """State a value, with the interval of its resamples (n_resamples,) where there are any."""
    low = high = None
    if resampled is not None:
        low, high = (round(float(bound), PLACES) for bound in np.percentile(resampled, (2.5, 97.5)))
    return {"value": round(float(value), PLACES), "low": low, "high": high}


def score_figures(means: NDArray[np.float64], resampled: NDArray[np.float64]) -> dict[str, Any]:
    """State entity F1, entity+emotion F1 and the score, half their sum.

    Args:
        means: float64 (2,).
        resampled: float64 (n_resamples, 2).
    """
    values = [*means, means.mean()]
    columns = [*resampled.T, resampled.mean(axis=-1)]
    return {name: figure(value, column) for name, value, column in zip(FIGURES, values, columns, strict=True)}


def ratio(part: float, whole: float) -> float | None:
    """Return a rounded share, None of nothing."""
    return round(part / whole, PLACES) if whole else None


def rounded(value: float | None) -> float | None:
    """Return a rounded figure, None where there is none."""
    return None if value is None else round(value, PLACES)
