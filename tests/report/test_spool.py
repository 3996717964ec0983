from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pipeline.errors import ConfigError
from pipeline.report.spool import Spool


def test_values_come_back_in_order_to_several_readers_at_once() -> None:
    spool = Spool()
    values = [{"a": "松果\n\u2028\ud800", "b": [1.5, None]}, [], "x"]
    for value in values:
        spool.append(value)
    first, second = iter(spool), iter(spool)
    assert next(first) == values[0]
    assert list(second) == values
    assert list(first) == values[1:]
    assert list(spool) == values


def test_a_full_folder_of_temporary_files_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/full")
    full = Path("/dev/full")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *_, **options: full.open("w+", **options))
    spool = Spool()
    with pytest.raises(ConfigError, match=r"/full: no temporary file can be written \(No space left on device\)"):
        spool.append("x" * 2**20)
    spool = Spool()
    spool.append("x")
    with pytest.raises(ConfigError, match="no temporary file can be written") as caught:
        list(spool)
    assert caught.value.hint == "set TMPDIR to a folder with room"


def test_no_folder_of_temporary_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(ConfigError, match="No usable temporary directory"):
        Spool()
