"""Files by path or URI: what names stand for, reading and writing, on this machine as pyarrow opens it."""

from __future__ import annotations

import gzip
import os
import pickle
import sys
from pathlib import Path

import pytest

from pipeline.artifacts import StoredFolder, find_files, is_pattern
from pipeline.data.read import iter_articles
from pipeline.errors import ConfigError, DataError

pytest.importorskip("pyarrow", reason="pyarrow is not installed (requirements-cluster.txt)")

ROW = b'{"newsId": "1", "title": "\xe6\x9d\xbe\xe6\x9e\x9c", "content": ""}\n'


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "b.jsonl",
        "a.jsonl",
        "day=1/a.jsonl",
        "day=2/a.jsonl",
        "day=2/_SUCCESS",
        "_tmp/a.jsonl",
        ".hidden",
        "e f/1.txt",
    ):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(ROW)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def uri(path: object) -> str:
    return f"file://{path}"


@pytest.mark.parametrize("form", [str, uri, os.path.relpath])
@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([""], ["a.jsonl", "b.jsonl", "day=1/a.jsonl", "day=2/a.jsonl", "e f/1.txt"]),
        (["*.jsonl"], ["a.jsonl", "b.jsonl"]),
        (["*/a.jsonl"], ["day=1/a.jsonl", "day=2/a.jsonl"]),
        (["day=[2-9]/*"], ["day=2/a.jsonl"]),
        (["day=2"], ["a.jsonl"]),
        (["e f/[1].txt"], ["1.txt"]),
        (["b.jsonl", "a.jsonl"], ["a.jsonl", "b.jsonl"]),
        (["day=2/*", "day=1/a.jsonl"], ["day=1/a.jsonl", "day=2/a.jsonl"]),
        (["b.jsonl", "day=1"], ["b.jsonl", "day=1/a.jsonl"]),
    ],
)
def test_what_names_stand_for(data: Path, form, names: list[str], found: list[str]) -> None:
    given = [form(f"{data}/{name}".rstrip("/")) for name in names]
    files = find_files(given)
    assert list(files) == found
    for file in files.values():
        assert Path(file.path).is_file()
        assert Path(file.name.removeprefix("file://")).resolve() == Path(file.path)
        assert file.name.startswith(given[0][:5])  # errors show the user's own way of writing it


@pytest.mark.parametrize("name", ["data/none.jsonl", "data/*.txt", "data/day=1/*/a.jsonl", "none/*"])
def test_a_name_without_files(data: Path, name: str) -> None:
    with pytest.raises(DataError, match="no such file"):
        find_files([name])


def test_an_empty_folder(data: Path) -> None:
    (data / "empty").mkdir()
    with pytest.raises(DataError, match="data/empty: the folder holds no file"):
        find_files(["data/empty"])


def test_a_file_whose_name_looks_like_a_pattern(data: Path) -> None:
    (data / "a[1].jsonl").write_bytes(ROW)
    assert list(find_files(["data/a[1].jsonl"])) == ["a[1].jsonl"]


def test_links_are_followed(data: Path) -> None:
    (data / "day=1/link.jsonl").symlink_to(data / "a.jsonl")
    (data / "day=1/linked").symlink_to(data / "day=2", target_is_directory=True)
    (data / "day=1/gone.jsonl").symlink_to(data / "none.jsonl")
    assert list(find_files(["data/day=1"])) == ["a.jsonl", "link.jsonl", "linked/a.jsonl"]
    assert list(find_files(["data/day=1/*/*.jsonl"])) == ["linked/a.jsonl"]


def test_a_file_system_that_refuses_to_look(data: Path) -> None:
    long = "x" * 300  # longer than any file's name may be
    with pytest.raises(DataError, match=rf"data/{long}: cannot be read \("):
        find_files([f"data/{long}"])
    with pytest.raises(DataError, match=rf"data/{long}: cannot be read \("):
        StoredFolder.at("data").file(long).exists()


@pytest.mark.parametrize("name", ["nope://bucket/x", "s3:///x"])
def test_a_uri_that_nothing_opens(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: no file system opens this"):
        find_files([name])


def test_files_on_two_file_systems(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import fs

    far = fs.SubTreeFileSystem(str(data), fs.LocalFileSystem())
    at = StoredFolder.at
    monkeypatch.setattr(
        StoredFolder, "at", lambda name: StoredFolder(far, "day=1", name) if name == "far" else at(name)
    )
    with pytest.raises(ConfigError, match="data and far: files on several file systems"):
        find_files(["data", "far"])


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="s3://bucket: pyarrow is not installed"):
        StoredFolder.at("s3://bucket")


@pytest.mark.parametrize("packed", [False, True])
def test_articles_are_read_as_from_a_path(data: Path, packed: bool) -> None:
    content = b"\xef\xbb\xbf" + ROW * 3000 + b"{broken\n"
    (data / "many.jsonl").write_bytes(gzip.compress(content) if packed else content)
    file = StoredFolder.at(uri(data)).file("many.jsonl")
    with pytest.raises(DataError) as of_path:
        list(iter_articles(data / "many.jsonl"))
    with pytest.raises(DataError) as of_file:
        list(iter_articles(file))
    assert of_file.value.message == f"file://{of_path.value.message}"
    assert ":3001: not JSON" in of_file.value.message


def test_a_file_that_is_gone(data: Path) -> None:
    file = StoredFolder.at("data").file("none.jsonl")
    assert not file.exists()
    with pytest.raises(DataError, match=r"data/none.jsonl: no such file"):
        list(iter_articles(file))


def test_a_file_is_whole_or_absent(data: Path) -> None:
    folder = StoredFolder.at("new/inner")
    file = folder.file("x/y.jsonl")
    with file.writer() as stream:
        stream.write("松果\r\n\ud800\n")
        assert not file.exists()
    written = Path("new/inner/x/y.jsonl")
    assert written.read_bytes() == "松果\r\n".encode() + b"\\ud800\n"
    with pytest.raises(KeyError), file.writer() as stream:
        stream.write({}["half"])
    assert written.read_text().startswith("松果")
    assert [path.name for path in written.parent.iterdir()] == ["y.jsonl"]
    assert folder.names() == ["x/y.jsonl"]


def test_what_killed_writers_left_is_removed(data: Path) -> None:
    (data / "day=1/.a.jsonl.0123abcd.tmp").touch()
    (data / "mine.tmp").touch()
    StoredFolder.at("data").remove_temporaries()
    assert not (data / "day=1/.a.jsonl.0123abcd.tmp").exists()
    assert (data / "mine.tmp").exists()


def test_a_place_that_cannot_be_written(data: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"data/a.jsonl/x: cannot be written"),
        StoredFolder.at("data/a.jsonl").file("x").writer(),
    ):
        pass


def test_a_folder_is_no_place_for_a_file(data: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"data/day=1: cannot be written"),
        StoredFolder.at("data").file("day=1").writer(),
    ):
        pass
    assert sorted(path.name for path in (data / "day=1").iterdir()) == ["a.jsonl"]
    assert not list(data.glob(".day*"))


def test_a_file_can_be_sent_to_another_machine(data: Path) -> None:
    file = find_files(["data/a.jsonl"])["a.jsonl"]
    sent = pickle.loads(pickle.dumps(file))
    assert (sent, sent.open().read()) == (file, ROW)


def test_signs_of_a_pattern() -> None:
    assert [is_pattern(name) for name in ("a*.jsonl", "day-[12]", "s3://b/x?region=eu", "plain")] == [
        True,
        True,
        False,
        False,
    ]
