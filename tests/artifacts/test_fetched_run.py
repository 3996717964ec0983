"""A run at a URI: copied whole, checked, and refused where it is not what was saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.artifacts import atomic_write_json, fetch_run, read_json
from pipeline.errors import ArtifactError, ConfigError
from tests.support.runs import finished_run

pytest.importorskip("pyarrow", reason="pyarrow is not installed (requirements-cluster.txt)")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return finished_run(tmp_path / "elsewhere").path


def test_a_fetched_run_has_the_files_of_its_manifest(source: Path, tmp_path: Path) -> None:
    run = fetch_run(f"file://{source}/", tmp_path / "here")
    assert run.path == tmp_path / "here" / source.name
    names = [*read_json(source / "manifest.json")["files"], "manifest.json"]
    assert len(names) > 1
    assert {name: (run.path / name).read_bytes() for name in names} == {
        name: (source / name).read_bytes() for name in names
    }
    assert sorted(str(path.relative_to(run.path)) for path in run.path.rglob("*") if path.is_file()) == sorted(names)


def test_a_run_that_is_not_there_or_not_finished(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"file://.*/none/manifest\.json: cannot be read \(no such file\)"):
        fetch_run(f"file://{source.parent}/none", tmp_path / "here")
    with pytest.raises(ConfigError, match="no file system opens this"):
        fetch_run("nowhere://runs/first", tmp_path / "here")


def test_a_file_that_was_changed_or_lies_outside(source: Path, tmp_path: Path) -> None:
    name = next(iter(read_json(source / "manifest.json")["files"]))
    (source / name).write_bytes(b"other")
    with pytest.raises(ArtifactError, match=r"here/.*: changed since the run was saved"):
        fetch_run(f"file://{source}", tmp_path / "here")
    manifest = read_json(source / "manifest.json")
    del manifest["sha256"]
    atomic_write_json(source / "manifest.json", manifest | {"files": {"../../taken": "0"}})
    with pytest.raises(ArtifactError, match=r"names '\.\./\.\./taken', which lies outside the run"):
        fetch_run(f"file://{source}", tmp_path / "again")
    assert not (tmp_path / "taken").exists()
