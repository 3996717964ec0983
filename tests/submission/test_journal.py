"""What an unfinished prediction leaves, and how the next goes on with it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ConfigError, DataError
from pipeline.schema import ChosenEntity, Emotion, Mention, Prediction, RunnerUp
from pipeline.submission import PredictionJournal
from pipeline.submission import journal as module
from tests.support.command_line import Cli, TinyRun, TinyRuns

WAIT_S = 120


def answer(number: int) -> Prediction:
    entity = ChosenEntity(f"砚台{number}\ud800", Emotion.NEG, 1 / 3, (0.1, 0.2, 0.7), (Mention("title", 0, 2, "砚台"),))
    return Prediction(f"a{number}", (entity,), (RunnerUp("超市", 0.1 + number),))


def journal(folder: Path, *, key: str = "k", resume: bool = False) -> PredictionJournal:
    return PredictionJournal(folder / "out.txt", key=key, chunk_size=3, resume=resume)


def stop_after(folder: Path, n_answers: int, error: BaseException | None = None) -> Path:
    """Note some answers and be stopped; return the file that is left."""
    with pytest.raises(type(error or KeyboardInterrupt())), journal(folder) as unfinished:  # noqa: PT012
        for number in range(n_answers):
            unfinished.note(answer(number))
        raise error or KeyboardInterrupt
    return folder / ".out.txt.part"


@pytest.mark.parametrize(("n_answers", "n_kept"), [(0, 0), (2, 0), (3, 3), (7, 6), (9, 9)])
def test_whole_chunks_come_back_as_they_were(tmp_path: Path, n_answers: int, n_kept: int) -> None:
    path = stop_after(tmp_path, n_answers)
    assert path.exists() == (n_kept > 0)
    with journal(tmp_path, resume=True) as again:
        assert again.n_done == n_kept
        assert list(again.done()) == [answer(number) for number in range(n_kept)]
        for number in range(n_kept, n_kept + 3):
            again.note(answer(number))
        again._file.flush()
        with pytest.raises(ConfigError, match=r"out.txt: another prediction is writing this file"):
            journal(tmp_path, resume=True).__enter__()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{}, {"key": "another", "resume": True}])
def test_nothing_comes_back_unasked_or_under_another_key(tmp_path: Path, options: dict[str, object]) -> None:
    stop_after(tmp_path, 6)
    with journal(tmp_path, **options) as again:
        assert (again.n_done, list(again.done())) == (0, [])


@given(cut=st.integers(0, 2000), change=st.none() | st.integers(0, 2000))
def test_a_torn_or_changed_file_gives_what_is_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int, change: int | None
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    path = stop_after(folder, 6)
    content = bytearray(path.read_bytes())
    if change is not None:
        content[change % len(content)] ^= 1
    path.write_bytes(content[: max(cut % (len(content) + 1), 0)])
    with journal(folder, resume=True) as again:
        assert again.n_done in (0, 3, 6)
        assert list(again.done()) == [answer(number) for number in range(again.n_done)]


def test_a_malformed_row_leaves_no_file(tmp_path: Path) -> None:
    assert not stop_after(tmp_path, 6, DataError("row")).exists()


@pytest.mark.parametrize("error", [MemoryError(), ConfigError("disk full")])
def test_what_can_be_mended_leaves_the_answers(tmp_path: Path, error: Exception) -> None:
    assert stop_after(tmp_path, 6, error).exists()
    with journal(tmp_path, resume=True) as again:
        assert again.n_done == 6


def test_a_file_that_cannot_be_begun_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_line", refuse)
    with pytest.raises(ConfigError, match=r"out\.txt: cannot be written \(No space left"):
        journal(tmp_path).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_killed_processes_go_and_others_stay(tmp_path: Path) -> None:
    names = [".out.txt.12-0123abcd.tmp", ".out.csv.12-0123abcd.tmp", ".out.txt.tmp", "out.txt.12-0123abcd.tmp"]
    for name in names:
        (tmp_path / name).touch()
    with PredictionJournal(tmp_path / "out.txt", others=[tmp_path / "out.csv"], key="k", chunk_size=3):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[2:])


def test_a_killed_prediction_goes_on_to_the_same_bytes(
    cli: Cli, tiny_runs: TinyRuns, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    tiny_run.copy_to(tmp_path)
    lines = (tiny_data / "all.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [line.replace("tiny", f"copy{number}-") for number in range(3) for line in lines]
    (tmp_path / "rows.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    arguments = ("predict", "--input", "rows.jsonl", "--output", "answer.txt", "--details", "answer.jsonl")
    unbroken = cli.run(*arguments, "--workers", 1, cwd=tmp_path)
    assert unbroken.code == 0, unbroken.err
    names = ("answer.txt", "answer.csv", "answer.jsonl")
    expected = [(tmp_path / name).read_bytes() for name in names]
    for name in names:
        (tmp_path / name).write_bytes(b"earlier\n")

    refused = cli.run(*arguments, "--workers", 1, cwd=tmp_path)
    assert (refused.code, refused.message) == (
        2,
        "answer.txt: exists, and is not as predict left it beside answer.txt",
    )
    process = cli.start(*arguments, "--force", "--workers", 1, cwd=tmp_path)
    part = tmp_path / ".answer.txt.part"
    deadline = time.monotonic() + WAIT_S
    while process.poll() is None and not (part.exists() and part.stat().st_size > 1000):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [(tmp_path / name).read_bytes() for name in names] == [b"earlier\n"] * 3
    resumed = cli.run(*arguments, "--resume", "--workers", 2, cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert "going on after" in resumed.err
    assert [(tmp_path / name).read_bytes() for name in names] == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [".answer.txt.json", *names, "models", "rows.jsonl"]
    )
