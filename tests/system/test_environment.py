"""What surrounds the program: locale, home, folders it may not write, a full disk, leftovers, a second process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder
from pipeline.cli import main
from pipeline.nn.encoders import folders
from tests.support.command_line import Cli, TinyRun, TinyRuns
from tests.support.paths import ROOT

BARE = {
    "LC_ALL": "C",
    "LANG": "C",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "gbk",
    "PYTHONHASHSEED": "99",
    "OMP_NUM_THREADS": "2",
}
NO_HOME = (
    "import os, sys; os.environ.pop('HOME', None); os.environ['XDG_CACHE_HOME'] = '/nonexistent'\n"
    "from pipeline.cli import main; sys.exit(main())"
)
SMALL_FILES = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))\n"
    "from pipeline.cli import main; sys.exit(main())"
)
"""A quota: no file may grow beyond so many bytes, as on a disk that is nearly full."""


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- locale, home, folders


def test_help_and_audit_in_a_bare_environment(cli: Cli, tiny_data: Path) -> None:
    for arguments in (["--help"], ["audit", "all.jsonl"]):
        usual, bare = cli.run(*arguments, cwd=tiny_data), cli.run(*arguments, cwd=tiny_data, env=BARE, code=NO_HOME)
        assert (bare.code, bare.err) == (0, "")
        assert len(bare.out.splitlines()) == len(usual.out.splitlines())


def test_predict_in_a_bare_environment_beside_old_files_from_a_folder_it_may_not_write(
    cli: Cli, tiny_runs: TinyRuns, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    """The input lies in a read-only folder; a killed prediction of long ago left its temporary files."""
    expected = tiny_runs.predict(tiny_run, tiny_data / "test.jsonl", tmp_path / "usual" / "answer.txt")
    work, source = tmp_path / "work", tmp_path / "source"
    source.mkdir()
    (source / "输入.jsonl").write_bytes((tiny_data / "test.jsonl").read_bytes())
    tiny_run.copy_to(work)
    old = [".answer.txt.1-00112233.tmp", ".answer.csv.1-00112233.tmp", ".answer.txt.part", "models/.x.1-0011.tmp"]
    for name in old:
        (work / name).write_bytes(b"torn")
    source.chmod(0o555)
    try:
        arguments = ("--input", source / "输入.jsonl", "--output", "answer.txt", "--details", "answer.details.jsonl")
        done = cli.run("predict", *arguments, "--resume", "--workers", 1, cwd=work, env=BARE, code=NO_HOME)
    finally:
        source.chmod(0o755)
    assert done.code == 0, done.err
    found = b"".join((work / name).read_bytes() for name in ("answer.txt", "answer.csv", "answer.details.jsonl"))
    assert found == expected
    assert [path.name for path in source.iterdir()] == ["输入.jsonl"]
    names = [".answer.txt.json", "answer.csv", "answer.details.jsonl", "answer.txt", "models"]
    assert sorted(path.name for path in work.iterdir()) == names


def test_a_working_folder_that_cannot_be_written(cli: Cli, tiny_data: Path) -> None:
    """/proc, where not even the superuser makes a file."""
    assert cli.run("audit", tiny_data / "all.jsonl", cwd=Path("/proc")).code == 0
    done = cli.run("train", "--preset", "tiny", "--run", "r", "--train", tiny_data / "train.jsonl", cwd=Path("/proc"))
    assert (done.code, done.message.split(" (")[0]) == (2, "models/r: cannot be written")


# --- a full disk


def test_a_full_disk_stops_training_in_one_line(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    arguments = ("train", "--preset", "tiny", "--set", "workers=1", "--run", "r", "--train", tiny_data / "train.jsonl")
    done = cli.run(*arguments, cwd=tmp_path, code=SMALL_FILES.format(20_000))
    assert (done.code, done.message) == (2, "models/r/snapshots/features/rows.f32: cannot be written (File too large)")
    assert not (tmp_path / "models" / "r" / "manifest.json").exists()
    assert list(tmp_path.rglob("*.tmp")) == []


def test_a_full_disk_stops_prediction_and_leaves_earlier_files(
    cli: Cli, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    (tmp_path / "answer.txt").write_bytes(b"earlier\n")
    before = files_of(tmp_path)
    arguments = ("predict", "--input", tiny_data / "all.jsonl", "--output", "answer.txt", "--workers", "1", "--force")
    done = cli.run(*arguments, cwd=tmp_path, code=SMALL_FILES.format(2000))
    assert (done.code, done.message) == (2, "answer.txt: cannot be written (File too large)")
    assert files_of(tmp_path) == before


# --- a second process


def test_a_second_training_in_one_folder_is_refused(
    tiny_run: TinyRun, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    folder = tiny_run.copy_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {name: content for name, content in files_of(folder).items() if name != "manifest.json"}
    with RunFolder(folder).claim():
        code = main(
            ["train", "--preset", "tiny", "--run", "tiny", "--train", str(tiny_data / "train.jsonl"), "--resume"]
        )
    assert code == 4
    assert "models/tiny: another training is using this run folder" in capsys.readouterr().err
    after = files_of(folder)
    assert {name: content for name, content in after.items() if name not in ("log.txt", ".lock")} == {
        name: content for name, content in before.items() if name not in ("log.txt", ".lock")
    }


def test_temporary_files_of_a_killed_training_go(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "r")
    for name in ("rerank/.model.txt.1-00112233.tmp", "report/.index.html.1-00112233.tmp", "rerank/notes.tmp"):
        (run.path / name).parent.mkdir(exist_ok=True)
        (run.path / name).touch()
    with run.claim():
        pass
    left = sorted(path.name for path in run.path.rglob("*.tmp"))
    assert left == [".index.html.1-00112233.tmp", "notes.tmp"]  # a report may be in the making


BUILD = """
import os, sys, time
from pathlib import Path
from pipeline.nn.encoders import folders

def build(folder):
    for number in range(20):
        (folder / f"{number}.bin").write_bytes(bytes(1000))
        time.sleep(0.02)

Path(sys.argv[2], str(os.getpid())).touch()
while len(list(Path(sys.argv[2]).iterdir())) < int(sys.argv[3]):
    time.sleep(0.01)
found = folders._cached(Path(sys.argv[1]), {"source": "x"}, build)
assert len(list(found.glob("*.bin"))) == 20, list(found.iterdir())
"""
STATES = """
import os, sys, time
from pathlib import Path
import torch
from pipeline.nn.encoders.state_cache import StateCache

cache = StateCache(Path(sys.argv[1]), torch.nn.Linear(1, 1))
Path(sys.argv[2], str(os.getpid())).touch()
while len(list(Path(sys.argv[2]).iterdir())) < int(sys.argv[3]):
    time.sleep(0.01)
for number in range(50):
    made = cache.get_or_make(f"ab{number}", lambda: torch.full((50, 8), float(number)))
    assert made.eq(number).all() and made.shape == (50, 8)
"""


@pytest.mark.parametrize(("code", "n_processes"), [(BUILD, 3), (STATES, 2)], ids=["encoder", "states"])
def test_processes_that_share_a_cache_find_it_whole(tmp_path: Path, code: str, n_processes: int) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "cache" / "x"), str(ready), str(n_processes)],
            env=environment,
            stderr=subprocess.PIPE,
        )
        for _ in range(n_processes)
    ]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
    if code == BUILD:
        assert [path.name for path in (tmp_path / "cache").iterdir()] == ["x"]
        assert folders._has_origin(tmp_path / "cache" / "x", {"source": "x"})
    assert list(tmp_path.rglob("*.tmp")) == []
