"""Feature rows of many articles on disk, read through a memory map: one copy for all processes that train on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.artifacts import atomic_write_json, map_array, read_json, write_errors
from pipeline.errors import ArtifactError

ROWS, LABELS, WIDTH = "rows.f32", "labels.f32", "width.json"
"""Names in the folder: the features, row after row; a label for each row; how many features a row has."""


class StoredRows(NamedTuple):
    """The rows of all articles, one article after the other."""

    matrix: np.ndarray
    """float32 (n_rows, n_features)."""
    labels: np.ndarray
    """float32 (n_rows,): 1 for gold entities."""


@contextmanager
def row_file(folder: Path) -> Iterator[RowWriter]:
    """Lend a writer of rows; the folder holds them once the block has ended without an error."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WIDTH).unlink(missing_ok=True)
    writer = RowWriter(folder)
    try:
        yield writer
    finally:
        writer.close()
    atomic_write_json(folder / WIDTH, writer.width)


class RowWriter:
    """Writes the rows of one article after the other.

    Args:
        folder: that exists.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ROWS
        self._rows, self._labels = self._path.open("wb"), (folder / LABELS).open("wb")
        self.width = 0

    def add(self, matrix: np.ndarray, labels: np.ndarray) -> None:
        """Write the rows of an article: float32 (n_candidates, n_features) and float32 (n_candidates,).

        Raises:
            ValueError: they are not as many as their labels, or not as wide as those before.
            ConfigError: the disk is full.
        """
        if len(matrix) != len(labels):
            raise ValueError(f"{len(matrix)} rows but {len(labels)} labels")
        if self.width and matrix.shape[1] != self.width:
            raise ValueError(f"{matrix.shape[1]} features, want {self.width}")
        self.width = matrix.shape[1]
        with write_errors(self._path):
            self._rows.write(np.ascontiguousarray(matrix, dtype=np.float32).data)
            self._labels.write(np.ascontiguousarray(labels, dtype=np.float32).data)

    def close(self) -> None:
        """Close the files.

        Raises:
            ConfigError: the disk is full.
        """
        with write_errors(self._path):
            self._rows.close()
            self._labels.close()


def store_rows(folder: Path, matrices: Iterable[np.ndarray], labels: Iterable[np.ndarray]) -> StoredRows:
    """Write the rows of articles, and return them as ``map_rows`` does."""
    with row_file(folder) as file:
        for matrix, label in zip(matrices, labels, strict=True):
            file.add(matrix, label)
    return map_rows(folder)


def map_rows(folder: Path, *, writable: bool = False) -> StoredRows:
    """Map the rows of a folder into memory.

    Raises:
        ArtifactError: they are not there, or not complete.
    """
    width = read_json(folder / WIDTH)
    matrix, labels = (map_array(folder / name, np.float32, writable=writable) for name in (ROWS, LABELS))
    if not isinstance(width, int) or len(matrix) != width * len(labels):
        raise ArtifactError(f"{folder / ROWS}: not as many numbers as {WIDTH} and {LABELS} say")
    return StoredRows(matrix.reshape(len(labels), width), labels)
