"""A way to write files of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.formats.tagging.rows import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
