"""The parallel map: in order, the same for any number of workers, bounded, and honest about what went wrong."""

from __future__ import annotations

import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ArtifactError, PipelineError
from pipeline.runtime.parallel import CHUNKS_AHEAD, chunked, deaf_children, map_chunks
from tests.support.paths import ROOT
from tests.support.processes import is_running


def load_factor() -> int:
    return 3


def load_and_note(folder: Path) -> int:
    (folder / f"{os.getpid()}-{secrets.token_hex(4)}").touch()
    return 3


def load_nothing() -> NoReturn:
    raise ArtifactError("models/x: made by another version", hint="train the run again")


def multiply(factor: int, chunk: list[int]) -> list[tuple[int, int]]:
    return [(factor * item, len(chunk)) for item in chunk]


def fail_at_five(factor: int, chunk: list[int]) -> list[int]:
    if 5 in chunk:
        raise ValueError("item 5 cannot be worked on")
    return chunk


def die(factor: int, chunk: list[int]) -> NoReturn:
    os._exit(1)


class Counted:
    """A stream that knows how much of it was taken."""

    def __init__(self) -> None:
        self.n_taken = 0

    def __iter__(self) -> Iterator[int]:
        for item in count():
            self.n_taken += 1
            yield item


run = partial(map_chunks, load=load_factor, chunk_size=2)
both = pytest.mark.parametrize("workers", [1, 2])


@given(st.lists(st.integers(), max_size=30), st.integers(1, 7))
def test_chunked(items: list[int], size: int) -> None:
    chunks = list(chunked(iter(items), size))
    assert [item for chunk in chunks for item in chunk] == items
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(0 < len(chunk) <= size for chunk in chunks)


@given(st.lists(st.integers(), max_size=30), st.integers(1, 7))
def test_one_worker_maps_in_order(items: list[int], size: int) -> None:
    results = list(map_chunks(multiply, items, load=load_factor, workers=1, chunk_size=size))
    assert [value for value, _ in results] == [3 * item for item in items]


def test_results_and_chunks_are_the_same_with_one_worker_and_two() -> None:
    results = [list(run(multiply, iter(range(25)), workers=workers)) for workers in (1, 2)]
    assert results[0] == results[1] == [(3 * item, 2 if item < 24 else 1) for item in range(25)]


@pytest.mark.parametrize("n_items", [0, 1, 2])
def test_a_stream_of_one_chunk_starts_no_process(n_items: int, tmp_path: Path) -> None:
    load = partial(load_and_note, tmp_path)
    results = list(map_chunks(multiply, range(n_items), load=load, workers=8, chunk_size=2))
    assert results == [(3 * item, n_items) for item in range(n_items)]
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} <= {str(os.getpid())}


@both
def test_the_resource_is_loaded_once_in_each_process(workers: int, tmp_path: Path) -> None:
    load = partial(load_and_note, tmp_path)
    assert len(list(map_chunks(multiply, range(20), load=load, workers=workers, chunk_size=2))) == 20
    processes = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert len(set(processes)) == len(processes) <= workers
    assert (processes == [str(os.getpid())]) == (workers == 1)


@both
def test_an_endless_stream_is_read_only_a_little_ahead(workers: int) -> None:
    stream = Counted()
    results = run(multiply, stream, workers=workers)
    bound = 2 * max(2, workers * CHUNKS_AHEAD)
    for n_seen, (value, _) in enumerate(islice(results, 20)):
        assert value == 3 * n_seen
        assert stream.n_taken <= n_seen + bound
    results.close()


@both
def test_an_error_of_the_work_arrives_with_what_was_done_before(workers: int) -> None:
    results = run(fail_at_five, range(20), workers=workers)
    assert list(islice(results, 4)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="item 5 cannot be worked on"):
        next(results)


@both
def test_an_error_of_loading_arrives_as_it_is(workers: int) -> None:
    with pytest.raises(ArtifactError, match="made by another version") as caught:
        list(map_chunks(multiply, range(20), load=load_nothing, workers=workers, chunk_size=2))
    assert (caught.value.exit_code, caught.value.hint) == (4, "train the run again")


@both
def test_an_error_of_the_stream_arrives(workers: int) -> None:
    def broken() -> Iterator[int]:
        yield from range(9)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        list(run(multiply, broken(), workers=workers))


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(PipelineError, match="a worker process died") as caught:
        list(run(die, range(20), workers=2))
    assert caught.value.hint is not None
    assert "fewer workers" in caught.value.hint


@pytest.mark.parametrize("hint", [None, "do this"])
def test_errors_travel_between_processes(hint: str | None) -> None:
    copy: Callable[[object], PipelineError] = lambda error: pickle.loads(pickle.dumps(error))  # noqa: E731
    error = copy(ArtifactError("what is wrong", hint=hint))
    assert (type(error), error.message, error.hint, str(error)) == (
        ArtifactError,
        "what is wrong",
        hint,
        "what is wrong",
    )


def wait_long(folder: Path, chunk: list[int]) -> NoReturn:
    (folder / str(os.getpid())).touch()
    time.sleep(600)
    raise AssertionError


def load_folder(folder: Path) -> Path:
    return folder


def test_workers_end_with_a_killed_main_process(tmp_path: Path) -> None:
    code = (
        "from functools import partial; from pathlib import Path; from pipeline.runtime.parallel import map_chunks\n"
        "from tests.runtime import test_parallel as t\n"
        f"load = partial(t.load_folder, Path({str(tmp_path)!r}))\n"
        "list(map_chunks(t.wait_long, range(8), load=load, workers=2, chunk_size=2))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    alive = {int(path.name) for path in tmp_path.iterdir()}
    while alive := {pid for pid in alive if is_running(pid)}:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.05)


def press_ctrl_c_while_workers_start(said: list[str]) -> None:
    with deaf_children():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        said.append("the block goes on")


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Answer Ctrl-C as Python does, also where a shell in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_while_workers_start_is_not_lost_to_another_thread() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    said: list[str] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c_while_workers_start(said)
    finally:
        done.set()
        other.join()
    assert said == ["the block goes on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_what_starts_meanwhile_does_not_hear_ctrl_c() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('still here')"
    with deaf_children():
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "still here\n")


@pytest.mark.parametrize(("n_items", "n_loaded"), [(0, 1), (5, 1), (9, 1), (10, 2), (25, 2)])
def test_few_items_are_worked_on_alone(tmp_path: Path, n_items: int, n_loaded: int) -> None:
    found = list(
        map_chunks(
            multiply, iter(range(n_items)), load=partial(load_and_note, tmp_path), workers=2, chunk_size=2, alone=10
        )
    )
    assert [value for value, _ in found] == [3 * item for item in range(n_items)]
    here = [path for path in tmp_path.iterdir() if path.name.startswith(f"{os.getpid()}-")]
    loaded = len(list(tmp_path.iterdir()))
    if n_loaded == 1:
        assert (len(here), loaded) == (1, 1)
    else:  # a worker that starts late may find nothing left to do
        assert not here
        assert 1 <= loaded <= n_loaded


def test_no_more_is_read_ahead_than_settles_it() -> None:
    stream = Counted()
    next(map_chunks(multiply, stream, load=load_factor, workers=1, chunk_size=2, alone=1000))
    assert stream.n_taken <= 4
