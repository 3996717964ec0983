"""What labels of pairs mean: 0 and 1, or scores of some range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.data.formats.pair_rows import PairRow
from pipeline.errors import ArtifactError, ConfigError, DataError

KNOWN_RANGES = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (0.0, 10.0), (0.0, 100.0))
"""Of scores, the first that holds all of them is taken: similarity, relatedness of SICK, of STS, and marks."""


@dataclass(frozen=True, slots=True)
class LabelScale:
    """Turns labels into 0 to 1, as matchers learn them, and back."""

    low: float
    high: float
    is_binary: bool
    """Whether every label is 0 or 1."""

    @classmethod
    def of(cls, rows: Sequence[PairRow], path: Path) -> LabelScale:
        """Recognise the scale of a file.

        Raises:
            DataError: the labels have no range that is known.
        """
        labels = {row.label for row in rows}
        if labels <= {0.0, 1.0}:
            return cls(0.0, 1.0, is_binary=True)
        found = [label for label in labels if label is not None]
        least, most = min(found), max(found)
        for low, high in KNOWN_RANGES:
            if low <= least and most <= high:
                return cls(low, high, is_binary=False)
        raise DataError(
            f"{path}: labels from {least:g} to {most:g} are of no range that is known",
            hint="say which by --score-range LOW,HIGH",
        )

    @classmethod
    def parse(cls, text: str) -> LabelScale:
        """Read "LOW,HIGH".

        Raises:
            ConfigError: it is not that, or LOW is not below HIGH.
        """
        try:
            low, high = (float(part) for part in text.split(","))
        except ValueError:
            low = high = 0.0
        if not (-np.inf < low < high < np.inf):
            raise ConfigError(f"--score-range {text}: want LOW,HIGH, as in --score-range 0,5")
        return cls(low, high, is_binary=False)

    @classmethod
    def from_dict(cls, values: Any, path: Path) -> LabelScale:
        """Read what ``to_dict`` gave.

        Raises:
            ArtifactError: it is damaged.
        """
        try:
            return cls(float(values["low"]), float(values["high"]), bool(values["is_binary"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"{path}: damaged, labels cannot be read") from error

    def to_dict(self) -> dict[str, float | bool]:
        """Return plain values."""
        return {"low": self.low, "high": self.high, "is_binary": self.is_binary}

    def normalised(self, rows: Sequence[PairRow], path: Path) -> np.ndarray:
        """Return the labels as float64 (n_rows,), 0 to 1.

        Raises:
            DataError: a label lies outside the range, or is neither 0 nor 1 where all are to be.
        """
        for row in rows:
            if row.label is None or not self.low <= row.label <= self.high:
                raise DataError(f"{path}:{row.line}: label {row.label} lies outside of {self}")
            if self.is_binary and row.label not in (0.0, 1.0):
                raise DataError(
                    f"{path}:{row.line}: label {row.label:g} is neither 0 nor 1, as the training labels are"
                )
        return (np.array([row.label for row in rows], dtype=np.float64) - self.low) / (self.high - self.low)

    def label_of(self, score: float) -> float:
        """Return the label that a score, 0 to 1, stands for."""
        return self.low + score * (self.high - self.low)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"
