"""Every reader on some thousand rows of each kind; with ``-m fuzz`` on FUZZ_ROWS of all (1,000,000 by default)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from .readers import LONG_ROWS, SOURCES, fuzz

QUICK_ROWS = 400


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Say nothing of what files were read as."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", SOURCES)
def test_hundreds_of_rows(name: str, tmp_path: Path) -> None:
    assert fuzz(name, QUICK_ROWS, tmp_path) >= QUICK_ROWS


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SOURCES)
def test_a_million_rows_of_all(name: str, tmp_path: Path) -> None:
    share = -(-LONG_ROWS // len(SOURCES))
    assert fuzz(name, share, tmp_path) >= share
