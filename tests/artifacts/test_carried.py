"""Files as values: read on one machine, written on another."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from pipeline.artifacts import CarriedFiles, files
from pipeline.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run/inner").mkdir(parents=True)
    (tmp_path / "run/inner/weights").write_bytes(b"\x00weights")
    (tmp_path / "run/empty").touch()
    (tmp_path / "run/done.json").write_text("{}")
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_arrives_as_it_was(folder: Path, tmp_path: Path) -> None:
    carried = pickle.loads(pickle.dumps(CarriedFiles.of(folder)))
    carried.unpack(tmp_path / "there")
    assert contents(tmp_path / "there") == contents(folder)
    assert len(contents(folder)) == 3


def test_a_single_file_and_what_is_not_there(folder: Path, tmp_path: Path) -> None:
    CarriedFiles.of(folder / "inner/weights").unpack(tmp_path / "there/weights")
    assert (tmp_path / "there/weights").read_bytes() == b"\x00weights"
    CarriedFiles.of(folder / "none").unpack(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_is_left_out_and_what_has_changed(folder: Path) -> None:
    before = CarriedFiles.of(folder, without=[folder / "inner", folder / "empty"])
    assert set(before.files) == {"done.json"}
    before = CarriedFiles.of(folder)
    (folder / "inner/weights").write_bytes(b"\x00weighty")
    (folder / "empty").write_bytes(b"longer")
    (folder / "new").touch()
    changed = CarriedFiles.of(folder).changed_from(before)
    assert set(changed.files) == {"inner/weights", "empty", "new"}


def test_the_marker_is_written_last_and_equal_files_not_at_all(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def noting(path: Path, content: bytes) -> None:
        written.append(path.name)
        files.atomic_write_bytes(path, content)

    monkeypatch.setattr("pipeline.artifacts.carried.atomic_write_bytes", noting)
    carried = CarriedFiles.of(folder)
    carried.unpack(tmp_path / "there", last="done.json")
    assert written == ["empty", "weights", "done.json"]
    (tmp_path / "there/empty").write_text("other")
    carried.unpack(tmp_path / "there", last="done.json")
    assert written[3:] == ["empty"]


def test_a_place_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/there/.*: cannot be written"):
        CarriedFiles.of(folder).unpack(tmp_path / "file/there")
