"""What adapters may use beside the pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from .framework import Tools


@pytest.fixture
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> Tools:
    get = request.getfixturevalue
    return Tools(tmp_path, get("cli"), get("tiny_data"), get("tiny_runs"), lambda: get("tiny_run"))
