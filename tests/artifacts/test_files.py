"""Files that are whole or absent, written at once or bit by bit, and folders that appear when they are done."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from pipeline.artifacts import (
    atomic_write_bytes,
    atomic_write_json,
    atomic_write_text,
    atomic_writer,
    new_folder,
    read_json,
)
from pipeline.errors import ArtifactError, ConfigError


def test_atomic_write_makes_folders_and_keeps_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "notes.txt"
    atomic_write_text(path, "松果\r\n")
    atomic_write_text(path, "云杉\n")
    assert path.read_bytes() == "云杉\n".encode()
    assert [file.name for file in path.parent.iterdir()] == ["notes.txt"]


def test_atomic_write_leaves_the_old_file_when_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    atomic_write_bytes(tmp_path / "f", b"old")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write_bytes(tmp_path / "f", b"new")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"f": b"old"}


@pytest.mark.parametrize("target", [".", "file/below", "pipe"])
def test_atomic_write_to_a_useless_path_is_a_config_error(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"is a folder or device|cannot be written"):
        atomic_write_bytes(tmp_path / target, b"")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_json_round_trip_keeps_any_text(tmp_path: Path) -> None:
    value = {"松果": ["\ud800", "a\u2028b", 0.5, None]}
    atomic_write_json(tmp_path / "v.json", value)
    assert read_json(tmp_path / "v.json") == value
    assert "松果" in (tmp_path / "v.json").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="not JSON compliant"):
        atomic_write_json(tmp_path / "v.json", float("nan"))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"{", "not valid"), (b"\xff", "not valid")]
)
def test_read_json_names_the_file(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "v.json").write_bytes(content)
    with pytest.raises(ArtifactError, match=rf"v\.json: {message}"):
        read_json(tmp_path / "v.json")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_file_written_bit_by_bit_is_whole_or_absent(tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    with atomic_writer(path) as file:
        file.write("青\r\n")
        file.write("\ud800")
        assert not path.exists()
    content = path.read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content) == "青\r\n\\ud800".encode()

    def break_off() -> None:
        with atomic_writer(path) as file:
            file.write("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        break_off()
    assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == [name]


def test_a_new_folder_appears_when_the_block_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "models" / "a"

    def break_off() -> None:
        with new_folder(path) as folder:
            (folder / "half").touch()
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        break_off()
    assert list(path.parent.iterdir()) == []
    path.mkdir()  # an empty folder is as good as none
    with new_folder(path) as folder:
        (folder / "whole").touch()
        assert list(path.iterdir()) == []
    assert [entry.name for entry in path.iterdir()] == ["whole"]
    with pytest.raises(ConfigError, match="a: exists already"), new_folder(path):
        pass
    with pytest.raises(ConfigError, match="cannot be written"), new_folder(path / "whole" / "b"):
        pass
