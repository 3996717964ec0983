"""The driver of trainings by fold, on a model that only counts: what is trained, kept, repeated and refused."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ArtifactError, DataError, PipelineError
from pipeline.runtime import trainings
from pipeline.runtime.fold_training import digest_of, digest_of_list, train_folds
from pipeline.runtime.parallel import map_chunks
from pipeline.runtime.trainings import DONE, FOLDS, MODEL, is_done, mark_done
from tests.support.counting import ITEMS, LOG, OF_ITEMS, TEACHING, Bench, CountingTask, Learnt
from tests.support.paths import ROOT
from tests.support.processes import is_running

WAIT_S = 60
ALL = ["0", "1", "2", "None"]
everywhere = pytest.mark.parametrize("workers", [1, 2])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_items_are_answered_in_order_by_models_that_did_not_see_their_fold(bench: Bench) -> None:
    results = bench.train()
    n_taught = Counter(fold for item, fold in zip(ITEMS, OF_ITEMS, strict=True) if item)
    assert [item for item, _, _ in results] == ITEMS
    assert [count for _, count, _ in results] == [len(TEACHING) - n_taught[fold] for fold in OF_ITEMS]
    assert len({draw for _, _, draw in results}) == 3
    assert bench.trained() == ALL


def test_the_model_on_all_items_and_the_results_of_each_fold_are_left_in_the_folder(bench: Bench) -> None:
    bench.train()
    folds = [f"{FOLDS}/{fold}/{name}" for fold in range(3) for name in ("counts.json.gz", DONE)]
    assert sorted(bench.contents) == sorted([*folds, f"{MODEL}/{DONE}", f"{MODEL}/learnt.json"])
    items, _ = json.loads(bench.contents[f"{MODEL}/learnt.json"])
    assert items == TEACHING
    [first, *_] = json.loads(gzip.decompress(bench.contents[f"{FOLDS}/1/counts.json.gz"]))
    assert first[:2] == ["禾", 5]


def test_results_and_files_do_not_depend_on_the_number_of_workers(bench: Bench, tmp_path: Path) -> None:
    other = Bench(tmp_path / "other")
    other.folder.mkdir()
    assert other.train(workers=3) == bench.train(workers=1)
    assert other.trained() == ALL
    theirs = other.contents
    assert {name: bench.contents[name] for name in theirs} == theirs


@pytest.mark.parametrize(("few", "n_processes"), [(0, 2), (len(ITEMS), 2), (len(ITEMS) + 1, 1)])
def test_few_items_are_trained_on_in_this_process(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, few: int, n_processes: int
) -> None:
    given = []

    def noting(*arguments: Any, workers: int, **options: Any) -> Any:
        given.append(workers)
        return map_chunks(*arguments, workers=1, **options)

    monkeypatch.setattr(CountingTask, "is_network", False)
    monkeypatch.setattr(CountingTask, "few", few)
    monkeypatch.setattr(trainings, "map_chunks", noting)
    bench.train(workers=2)
    assert given == [n_processes]


@everywhere
def test_what_is_done_is_not_repeated(bench: Bench, workers: int) -> None:
    results = bench.train(workers)
    bench.trained()
    assert bench.train(workers) == results
    assert bench.trained() == []
    (bench.folder / FOLDS / "1" / DONE).unlink()
    (bench.folder / MODEL / DONE).unlink()
    assert bench.train(workers) == results
    assert bench.trained() == ["1", "None"]


def test_another_key_trains_again(bench: Bench) -> None:
    results = bench.train()
    bench.trained()
    assert bench.train(option=1) != results
    assert bench.trained() == ALL
    assert bench.train() == results


@everywhere
def test_a_fold_that_fails_leaves_what_was_saved_before(bench: Bench, workers: int) -> None:
    with pytest.raises(ArtifactError, match="fold 2 cannot be learnt") as caught:
        bench.train(workers, fails_at=2)
    assert caught.value.hint == "take another"
    assert [is_done(bench.folder / FOLDS / str(fold), f"0/{fold}") for fold in range(3)] == [True, True, False]
    assert not is_done(bench.folder / MODEL, "0/None") or workers > 1
    bench.trained()
    bench.train(workers)
    assert set(bench.trained()) <= {"2", "None"}


def test_a_process_that_dies_is_one_line(bench: Bench) -> None:
    with pytest.raises(PipelineError, match="a worker process died"):
        bench.train(workers=2, dies_at=2)
    assert not is_done(bench.folder / FOLDS / "2", "0/2")
    bench.trained()
    bench.train(workers=1)
    assert "2" in bench.trained()


def test_ctrl_c_ends_every_training_and_keeps_what_was_saved(bench: Bench) -> None:
    code = (
        "from pathlib import Path; from tests.support.counting import Bench\n"
        f"Bench(Path({str(bench.folder)!r})).train(workers=2, waits_from=1)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell has Ctrl-C ignored by what it starts in the background, and by all that comes of that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + WAIT_S
    while len(list(bench.folder.glob("*.pid"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=WAIT_S)
    assert said.count("Traceback") == 1
    assert said.rstrip().endswith("KeyboardInterrupt")
    alive = {int(path.stem) for path in bench.folder.glob("*.pid")}
    while alive := {pid for pid in alive if is_running(pid)}:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.05)
    assert [is_done(bench.folder / FOLDS / str(fold), f"0/{fold}") for fold in range(3)] == [True, False, False]


def test_nothing_is_trained_where_a_fold_would_learn_nothing(bench: Bench) -> None:
    with pytest.raises(DataError, match="nothing to count"):
        train_folds(bench.task, ["青", ""], [0, 1], folder=bench.folder, workers=1)
    assert bench.trained() == []


def test_the_model_on_all_items_is_trained_only_where_it_is_wanted(bench: Bench) -> None:
    alone = train_folds(bench.task, ITEMS, OF_ITEMS, folder=bench.folder, workers=1, final=False)
    assert bench.trained() == ["0", "1", "2"]
    assert not (bench.folder / MODEL).exists()
    assert bench.train() == alone
    assert bench.trained() == ["None"]


def test_items_and_folds_must_fit(bench: Bench) -> None:
    with pytest.raises(ValueError, match="8 items but 1 folds"):
        train_folds(bench.task, ITEMS, [0], folder=bench.folder, workers=1)


def damage_one_byte(packed: bytes) -> bytes:
    return packed[:14] + bytes([packed[14] ^ 0xFF]) + packed[15:]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda packed: packed[:-9], id="cut off"),
        pytest.param(damage_one_byte, id="one byte changed"),
        pytest.param(lambda packed: b"", id="empty"),
        pytest.param(lambda packed: gzip.compress(b"[[1]]"), id="other values"),
        pytest.param(lambda packed: gzip.compress(b"[]"), id="too few"),
        pytest.param(lambda packed: gzip.compress(b"7"), id="no list"),
    ],
)
def test_damaged_results_are_named(bench: Bench, damage: Callable[[bytes], bytes]) -> None:
    bench.train()
    path = bench.folder / FOLDS / "1" / "counts.json.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ArtifactError, match=r"folds/1/counts\.json\.gz: cannot be read"):
        bench.train()


@settings(max_examples=20)
@given(key=st.text(max_size=8), other=st.text(max_size=8))
def test_a_folder_is_done_under_its_own_key_alone(
    tmp_path_factory: pytest.TempPathFactory, key: str, other: str
) -> None:
    folder = tmp_path_factory.mktemp("done")
    assert not is_done(folder, key)
    mark_done(folder, key)
    assert is_done(folder, key)
    assert is_done(folder, other) == (other == key)


def test_a_single_fold_leaves_nothing_to_learn_from(bench: Bench) -> None:
    with pytest.raises(ValueError, match=r"at least 2 folds, got \[1\]"):
        train_folds(Undemanding(7, "", bench.folder / LOG), ["青", "松"], [1, 1], folder=bench.folder, workers=1)


class Undemanding(CountingTask):
    """Would learn from nothing."""

    def select(self, items: list[str]) -> list[str]:
        return items


class Forgetful(CountingTask):
    """Loses a result."""

    def predict(self, model: Learnt, items: list[str]) -> list[Any]:
        return super().predict(model, items)[1:]


def test_too_few_results_are_noticed_where_they_are_made(tmp_path: Path) -> None:
    task = Forgetful(7, "", tmp_path / LOG)
    with pytest.raises(ValueError, match="fold 0: 2 results for 3 items"):
        train_folds(task, ITEMS, OF_ITEMS, folder=tmp_path, workers=1)


class Keeping(CountingTask):
    """Its fold models predict."""

    @property
    def keeps_fold_models(self) -> bool:
        return True


def test_the_models_of_folds_are_kept_where_they_predict(tmp_path: Path) -> None:
    train_folds(Keeping(7, "", tmp_path / LOG), ITEMS, OF_ITEMS, folder=tmp_path, workers=1, final=False)
    kept = {path.parent.name: json.loads(path.read_text())[0] for path in tmp_path.rglob("learnt.json")}
    assert kept == {
        str(fold): [item for item, own in zip(ITEMS, OF_ITEMS, strict=True) if own != fold and item]
        for fold in (0, 1, 2)
    }


def test_seeds_depend_on_run_task_and_fold(tmp_path: Path) -> None:
    task = CountingTask(7, "", tmp_path / LOG)
    seeds = [task.seed_of(0), task.seed_of(1), task.seed_of(None), replace(task, seed=8).seed_of(0)]
    assert len(set(seeds)) == 4
    assert task.seed_of(0) == replace(task, option=3).seed_of(0)


@given(st.lists(st.text(max_size=3) | st.integers(), max_size=4))
def test_a_list_is_hashed_item_by_item_as_at_once(items: list[object]) -> None:
    assert digest_of_list(items) == digest_of([items])
