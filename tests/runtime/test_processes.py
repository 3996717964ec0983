"""Processes that train together: what the first alone does, what all do, and how they end when one of them fails."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import DataError, PipelineError
from pipeline.runtime import processes
from pipeline.runtime.processes import (
    end_if_launched,
    follow,
    from_main,
    is_main,
    joined,
    n_processes,
    side_by_side,
    together,
)
from tests.support.command_line import Cli, Done, launcher_variables

CODE = "import sys; from tests.runtime import test_processes; test_processes.begin(*sys.argv[1:])"
DEADLINE_S = 120
ALONE = "another of the processes that train together is gone"


def note(folder: str, what: str) -> None:
    with (Path(folder) / os.environ["RANK"]).open("a") as file:
        file.write(f"{what}\n")


@together
def add(folder: str, number: int, *, to: int) -> int:
    note(folder, f"add {number} to {to}")
    return number + to


@together
def add_twice(folder: str, number: int) -> int:
    return add(folder, add(folder, number, to=3), to=4)


@together
def agree(folder: str) -> None:
    note(folder, f"agree on {from_main('first' if is_main() else 'other')}")


@together
def fail(ranks: str) -> None:
    """Fail in some of the processes, while the others wait for them."""
    if os.environ["RANK"] in ranks:
        raise DataError("nothing to learn from")
    from_main(0)


@together
def stall(folder: str) -> None:
    """Keep the other waiting for the first."""
    note(folder, "waiting")
    if is_main():
        time.sleep(DEADLINE_S)
    from_main(0)


def lead(folder: str, what: str) -> None:
    """Do what the first process does."""
    if what == "work":
        note(folder, f"sum {add_twice(folder, add(folder, 1, to=1))}")
        agree(folder)
        note(folder, f"{n_processes()} processes, {side_by_side(4)} training(s) at a time")
    elif what == "stall":
        stall(folder)
    elif what == "stop":
        raise DataError("no such file")
    else:
        fail(what)


def begin(folder: str, what: str) -> None:
    """Be one of two processes, and end as one."""
    processes.GRACE_S = 0.5
    atexit.register(lambda: note(folder, "the interpreter came down"))
    end_if_launched(_begin(folder, what))
    raise AssertionError("was not launched")


def _begin(folder: str, what: str) -> int:
    try:
        with joined():
            if is_main():
                lead(folder, what)
            else:
                follow()
    except PipelineError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def launch(cli: Cli, folder: Path, what: str) -> list[Done]:
    return cli.launch(2, folder, what, cwd=folder, code=CODE)


def test_one_process_is_the_first_and_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined():
        assert (is_main(), n_processes(), side_by_side(4), from_main("value")) == (True, 1, 4, "value")
        assert add(str(tmp_path), 2, to=3) == 5
        with pytest.raises(ValueError, match="belongs to no group"):
            follow()
    end_if_launched(0)  # returns: there was no launcher


@pytest.mark.enable_socket
def test_the_first_process_leads_and_the_other_takes_part(cli: Cli, tmp_path: Path) -> None:
    assert launch(cli, tmp_path, "work") == [Done(0, "", ""), Done(0, "", "")]
    both = "add 1 to 1\nadd 2 to 3\nadd 5 to 4\n"
    assert (tmp_path / "0").read_text() == f"{both}sum 9\nagree on first\n2 processes, 1 training(s) at a time\n"
    assert (tmp_path / "1").read_text() == f"{both}agree on first\n"


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("stop", [Done(3, "", "error: no such file\n"), Done(0, "", "")]),
        ("01", [Done(3, "", "error: nothing to learn from\n")] * 2),
        ("1", [Done(1, "", f"error: {ALONE}\n"), Done(3, "", "error: nothing to learn from\n")]),
    ],
    ids=["between trainings", "in both", "in the other"],
)
def test_an_error_ends_both(cli: Cli, tmp_path: Path, what: str, expected: list[Done]) -> None:
    assert launch(cli, tmp_path, what) == expected


@pytest.mark.enable_socket
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_first(cli: Cli, tmp_path: Path, sent: signal.Signals) -> None:
    variables = launcher_variables(2)
    both = [cli.start(tmp_path, "stall", cwd=tmp_path, code=CODE, env=own) for own in variables]
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not all((tmp_path / str(rank)).exists() for rank in range(2)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        for process in both if sent == signal.SIGINT else both[:1]:  # Ctrl-C reaches all of them
            process.send_signal(sent)
        errors = [process.communicate(timeout=DEADLINE_S / 2)[1].decode() for process in both]
    finally:
        for process in both:
            process.kill()
            process.communicate()
    codes = [process.returncode for process in both]
    if sent == signal.SIGINT:
        assert (codes, errors) == ([130, 130], ["", ""])
    else:
        assert (codes, errors) == ([-signal.SIGKILL, 1], ["", f"error: {ALONE}\n"])
