"""Every property on a few thousand inputs; with ``-m fuzz`` on FUZZ_INPUTS (1,000,000 by default)."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import files, formats, texts
from .inputs import LONG_INPUTS, QUICK_INPUTS, Property, run

PROPERTIES = {
    "rows": Property(files.rows, 0.20, 200, needs_folder=True),
    "formats": Property(formats.formats, 0.05, 12, needs_folder=True),
    "offsets": Property(texts.offsets, 0.25, 200),
    "candidates": Property(texts.candidates, 0.02, 20),
    "tags": Property(texts.tags, 0.10, 400),
    "submissions": Property(files.submissions, 0.10, 200, needs_folder=True),
    "metric": Property(files.metric, 0.18, 400),
    "html": Property(files.html, 0.10, 200, needs_folder=True),
}


def test_shares_add_up() -> None:
    assert sum(prop.share for prop in PROPERTIES.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", PROPERTIES)
def test_thousands(name: str, tmp_path: Path) -> None:
    assert run(name, PROPERTIES[name], QUICK_INPUTS, tmp_path) >= QUICK_INPUTS * PROPERTIES[name].share


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROPERTIES)
def test_a_million(name: str, tmp_path: Path) -> None:
    assert run(name, PROPERTIES[name], LONG_INPUTS, tmp_path) >= LONG_INPUTS * PROPERTIES[name].share
