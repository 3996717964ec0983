"""Rows of features on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.features.stored_rows import LABELS, ROWS, map_rows, row_file, store_rows
from pipeline.errors import ArtifactError


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 3))
def test_what_is_mapped_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], width: int
) -> None:
    rng = np.random.default_rng(len(sizes))
    matrices = [rng.normal(size=(size, width)).astype(np.float32) for size in sizes]
    labels = [rng.integers(0, 2, size).astype(np.float32) for size in sizes]
    found = store_rows(tmp_path_factory.mktemp("rows"), matrices, labels)
    np.testing.assert_array_equal(found.matrix, np.vstack([np.zeros((0, width), np.float32), *matrices]))
    np.testing.assert_array_equal(found.labels, np.concatenate([np.zeros(0), *labels]))


def test_a_writable_map_writes(tmp_path: Path) -> None:
    store_rows(tmp_path, [np.zeros((2, 3), np.float32)], [np.zeros(2, np.float32)])
    map_rows(tmp_path, writable=True).matrix[1, 2] = 5
    assert map_rows(tmp_path).matrix.tolist() == [[0, 0, 0], [0, 0, 5]]


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with row_file(tmp_path) as file:
        file.add(np.zeros((2, 3), np.float32), np.zeros(2, np.float32))
        with pytest.raises(ValueError, match="2 rows but 1 labels"):
            file.add(np.zeros((2, 3), np.float32), np.zeros(1, np.float32))
        with pytest.raises(ValueError, match="4 features, want 3"):
            file.add(np.zeros((1, 4), np.float32), np.zeros(1, np.float32))


def test_a_store_that_was_broken_off_is_none(tmp_path: Path) -> None:
    store_rows(tmp_path, [np.zeros((2, 3), np.float32)], [np.zeros(2, np.float32)])
    with pytest.raises(RuntimeError), row_file(tmp_path):
        raise RuntimeError
    with pytest.raises(ArtifactError):
        map_rows(tmp_path)


@pytest.mark.parametrize("name", [ROWS, LABELS])
def test_a_store_that_lacks_something_is_refused(tmp_path: Path, name: str) -> None:
    store_rows(tmp_path, [np.zeros((2, 3), np.float32)], [np.zeros(2, np.float32)])
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:-4])
    with pytest.raises(ArtifactError, match="not as many numbers"):
        map_rows(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ArtifactError, match="cannot be read"):
        map_rows(tmp_path)
