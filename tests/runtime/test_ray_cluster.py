"""A cluster of two nodes, of which one is lost midway: trainings and answers are those of one machine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipeline.runtime.folder_load import FolderLoad
from pipeline.runtime.ray_engine import ADDRESS, RayChunkMap, started_ray
from pipeline.runtime.ray_training import RayTrainingMap
from tests.support.command_line import Cli, TinyRun
from tests.support.counting import LOG, Bench, CountingTask, Learnt
from tests.support.on_ray import ELSEWHERE, PROGRAM_PATH, needs_ray

WAIT_S = 300


class TwoNodes:
    """A head and another node on this machine, of one processor each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self._other = self._cluster.add_node(num_cpus=1)
        self.address: str = self._cluster.address

    def works_on_the_other(self, pid: int) -> bool:
        """Tell whether a process belongs to the node that can be lost."""
        raylet = self._other.all_processes["raylet"][0].process.pid
        return raylet in [process.pid for process in psutil.Process(pid).parents()]

    def lose_the_other(self) -> None:
        """End the other node at once, as a machine without power does, and add a new one."""
        self._cluster.remove_node(self._other, allow_graceful=False)
        self._other = self._cluster.add_node(num_cpus=1)

    def shutdown(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PROGRAM_PATH["PYTHONPATH"])
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        nodes = TwoNodes()
        patch.setenv(ADDRESS, nodes.address)
        yield nodes
        nodes.shutdown()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@dataclass(frozen=True)
class WaitingTask(CountingTask):
    """Its trainings note their process in a folder that all nodes see, and wait there to be let go."""

    here: Path = Path()

    def fit(self, items: list[str], fold: int | None) -> Learnt:
        (self.here / f"{fold}.{os.getpid()}").touch()
        wait_for((self.here / "go").exists)
        return super().fit(items, fold)


@needs_ray
def test_trainings_of_a_lost_node_are_begun_anew_on_another(nodes: TwoNodes, tmp_path: Path) -> None:
    for name in ("here", "ray", "local"):
        (tmp_path / name).mkdir()
    here = tmp_path / "here"
    with started_ray(2) as ray, ThreadPoolExecutor(1) as thread:
        bench = Bench(tmp_path / "ray", RayTrainingMap(ray))
        task = WaitingTask(7, "", bench.folder / LOG, here=here)
        results = thread.submit(bench.train_task, task, 2)
        wait_for(lambda: len(list(here.iterdir())) == 2)
        begun = {int(path.name.partition(".")[2]): path.name.partition(".")[0] for path in here.iterdir()}
        (lost,) = [fold for pid, fold in begun.items() if nodes.works_on_the_other(pid)]
        nodes.lose_the_other()
        wait_for(lambda: len(list(here.glob(f"{lost}.*"))) == 2)
        (here / "go").touch()
        found = results.result(WAIT_S)
    local = Bench(tmp_path / "local")
    assert found == local.train()
    assert bench.contents == local.contents
    assert {path.name.partition(".")[0] for path in here.glob("*.*")} == {"0", "1", "2", "None"}


def word_and_place(folder: Path) -> tuple[str, Path]:
    return (folder / "word").read_text(), folder


def with_words(resource: tuple[str, Path], chunk: list[int]) -> list[tuple[int, str, Path]]:
    return [(number, *resource) for number in chunk]


@needs_ray
def test_what_a_worker_loads_is_carried_to_it(nodes: TwoNodes, tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words/word").write_text("青")
    with started_ray(1) as ray:
        load = FolderLoad(word_and_place, tmp_path / "words")
        found = list(RayChunkMap(ray)(with_words, range(5), load=load, workers=1, chunk_size=2))
    assert [(number, word) for number, word, _ in found] == [(number, "青") for number in range(5)]
    (place,) = {place for _, _, place in found}
    assert not place.is_relative_to(tmp_path)
    assert not place.exists()


def training(data: Path, engine: str) -> tuple[str, ...]:
    """Return the arguments of a training whose trees take some time."""
    options = ("workers=2", "rerank.n_estimators=800", "sentiment.members=[tfidf]")
    settings = [part for option in options for part in ("--set", option)]
    return ("train", "--preset", "tiny", "--train", str(data), *settings, "--engine", engine, "--run", engine)


def finish(process: subprocess.Popen[bytes]) -> str:
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, err.decode()
    return out.decode()


@needs_ray
def test_a_run_trained_and_used_on_a_cluster_is_that_of_one_machine(
    nodes: TwoNodes, cli: Cli, tiny_data: Path, tmp_path: Path
) -> None:
    done = cli.run(*training(tiny_data / "train.jsonl", "local"), cwd=tmp_path, env=PROGRAM_PATH)
    assert done.code == 0, done.err
    trained = cli.start(*training(tiny_data / "train.jsonl", "ray"), cwd=tmp_path, env=PROGRAM_PATH, code=ELSEWHERE)
    rerank = tmp_path / "models/ray/rerank"
    try:
        wait_for(lambda: trained.poll() is not None or list(rerank.glob("folds/*/done.json")))
        assert not (rerank / "model/done.json").exists()  # something is still trained
        nodes.lose_the_other()
        assert finish(trained) == "models/ray\n"
    finally:
        trained.kill()
    assert TinyRun(tmp_path, "ray").contents == TinyRun(tmp_path, "local").contents

    (tmp_path / "parts").mkdir()
    lines = (tiny_data / "all.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(4):
        (tmp_path / f"parts/{number}.jsonl").write_bytes(b"".join(lines[number * 15 : (number + 1) * 15]))
    answers = {}
    for engine, source in (("local", str(tiny_data / "all.jsonl")), ("ray", f"file://{tmp_path}/parts")):
        upload = tmp_path / f"{engine}.txt"
        target: tuple[Any, ...] = ("--output", upload)
        if engine == "ray":
            target = ("--output", f"file://{tmp_path}/answers", "--join", upload)
        done = cli.run(
            *("predict", "--run", engine, "--input", source, *target, "--workers", 2, "--engine", engine),
            cwd=tmp_path,
            env=PROGRAM_PATH,
        )
        assert done.code == 0, done.err
        answers[engine] = upload.read_bytes()
    assert answers["ray"] == answers["local"]
