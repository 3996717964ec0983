"""Trainings by fold on Ray: the files of the local engine, trained elsewhere, whatever happens to a worker."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from pipeline.errors import ArtifactError, PipelineError
from pipeline.runtime.ray_engine import ADDRESS, MAX_RESTARTS, started_ray
from pipeline.runtime.ray_training import RayTrainingMap
from pipeline.runtime.trainings import FOLDS, MODEL, is_done
from tests.support.counting import LOG, Bench, CountingTask, Learnt
from tests.support.on_ray import needs_ray


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Lend Ray, started on this machine with two processors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ADDRESS, raising=False)
        with started_ray(2) as ray:
            yield ray


@pytest.fixture
def bench(ray: Any, tmp_path: Path) -> Bench:
    (tmp_path / "ray").mkdir()
    return Bench(tmp_path / "ray", RayTrainingMap(ray))


@pytest.fixture
def local(tmp_path: Path) -> Bench:
    (tmp_path / "local").mkdir()
    return Bench(tmp_path / "local")


class Telling(CountingTask):
    """Its models answer with the processes that they learnt in."""

    def predict(self, model: Learnt, items: list[str]) -> list[Any]:
        return [(item, os.getpid(), 0.0) for item in items]


@needs_ray
def test_results_and_files_are_those_of_the_local_engine(bench: Bench, local: Bench) -> None:
    assert bench.train(workers=2) == local.train(workers=1)
    assert bench.contents == local.contents
    assert bench.trained() == local.trained()  # the lines of the log come back


@needs_ray
def test_trainings_run_in_processes_of_ray(bench: Bench) -> None:
    processes = {process for _, process, _ in bench.train_task(Telling(7, "", bench.folder / LOG), workers=2)}
    assert os.getpid() not in processes
    assert len(list(bench.folder.rglob("*.tmp"))) == 0


class Counted:
    """Ray, with a count of what is put into its store."""

    def __init__(self, ray: Any) -> None:
        self._ray, self.n_put = ray, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ray, name)

    def put(self, value: object) -> Any:
        self.n_put += 1
        return self._ray.put(value)


@needs_ray
def test_items_are_in_the_store_once_for_all_trainings(bench: Bench, ray: Any) -> None:
    counted = Counted(ray)
    bench.training_map = RayTrainingMap(counted)
    bench.train(workers=2)
    assert counted.n_put == 1
    bench.train(workers=2)
    assert counted.n_put == 1  # all is done: nothing is sent


@needs_ray
def test_a_training_that_fails_says_why_and_leaves_what_was_saved_before(bench: Bench) -> None:
    with pytest.raises(ArtifactError, match=r"^fold 2 cannot be learnt$") as caught:
        bench.train(workers=1, fails_at=2)
    assert (type(caught.value), caught.value.hint) == (ArtifactError, "take another")
    assert [is_done(bench.folder / FOLDS / str(fold), f"0/{fold}") for fold in range(3)] == [True, True, False]
    assert bench.trained() == ["0", "1"]
    bench.train(workers=1)
    assert bench.trained() == ["2", "None"]


@dataclass(frozen=True)
class DyingTask(CountingTask):
    """Its process dies in the first trainings of a fold; ``deaths`` is a file that all machines see."""

    deaths: Path = Path()
    n_deaths: int = 0

    def fit(self, items: list[str], fold: int | None) -> Learnt:
        if fold == 1:
            with self.deaths.open("a") as file:
                file.write("x")
            if self.deaths.stat().st_size <= self.n_deaths:
                os._exit(1)
        return super().fit(items, fold)


@needs_ray
def test_a_lost_worker_costs_nothing(bench: Bench, local: Bench) -> None:
    task = DyingTask(7, "", bench.folder / LOG, deaths=bench.folder.parent / "deaths", n_deaths=1)
    assert bench.train_task(task, workers=2) == local.train()
    assert bench.contents == local.contents
    assert task.deaths.stat().st_size == 2


@needs_ray
def test_a_training_that_is_lost_too_often_is_one_line(bench: Bench) -> None:
    task = DyingTask(7, "", bench.folder / LOG, deaths=bench.folder.parent / "deaths", n_deaths=99)
    with pytest.raises(PipelineError, match=r"^a Ray worker was lost too often \(out of memory\?\)$"):
        bench.train_task(task, workers=1)
    assert task.deaths.stat().st_size == MAX_RESTARTS + 1
    assert is_done(bench.folder / FOLDS / "0", "0/0")


@dataclass
class Read:
    """What a training has read, and where from."""

    word: str
    encoder: Path
    was_there: list[str]

    def save(self, folder: Path) -> None:
        """Write it, and beside it the encoder that all models share."""
        folder.mkdir(parents=True)
        (folder / "read.json").write_text(json.dumps([self.word, self.was_there]))
        (self.encoder / "layers").mkdir(parents=True, exist_ok=True)
        (self.encoder / "layers/weights").write_bytes(b"encoder")


@dataclass(frozen=True)
class ReadingTask(CountingTask):
    """Its models read a file and a folder of the run, and write into that folder and another."""

    keeps_fold_models: ClassVar[bool] = True  # type: ignore[assignment]

    file: Path = Path()
    encoder: Path = Path()
    apart: Path = Path()

    @property
    def reads(self) -> tuple[Path, ...]:
        return (self.file,)

    @property
    def leaves(self) -> tuple[Path, ...]:
        return (self.encoder,)

    @property
    def scratch(self) -> tuple[Path, ...]:
        return (self.apart, self.encoder / "states")

    def moved(self, places: Mapping[Path, Path]) -> Self:
        file, encoder, apart = (places[path] for path in (self.file, self.encoder, self.apart))
        return replace(self, file=file, encoder=encoder, apart=apart)

    def fit(self, items: list[str], fold: int | None) -> Read:  # type: ignore[override]
        was_there = sorted(path.name for path in self.encoder.rglob("*") if path.is_file())
        for folder in self.scratch:
            folder.mkdir(parents=True)
            (folder / "of-one-training").touch()
        return Read(self.file.read_text(), self.encoder, was_there)

    def predict(self, model: Read, items: list[str]) -> list[Any]:  # type: ignore[override]
        return [(str(self.file), 0, 0.0) for _ in items]


@needs_ray
def test_files_of_the_run_travel_to_a_training_and_back(bench: Bench) -> None:
    run = bench.folder.parent
    encoder = run / "encoder"
    (run / "word").write_text("青")
    task = ReadingTask(7, "", None, file=run / "word", encoder=encoder, apart=run / "apart")
    seen = {name for name, _, _ in bench.train_task(task, workers=2)}
    assert str(run / "word") not in seen
    assert not any(Path(name).exists() for name in seen)
    models = [*(bench.folder / FOLDS / str(fold) for fold in range(3)), bench.folder / MODEL]
    assert [json.loads((model / "read.json").read_text()) for model in models] == [["青", []]] * 4
    assert [path.relative_to(run) for path in encoder.rglob("*") if path.is_file()] == [Path("encoder/layers/weights")]
    assert not (run / "apart").exists()

    (encoder / "states").mkdir()
    (encoder / "states/old").touch()  # of use to this machine alone
    before = (encoder / "layers/weights").stat().st_mtime_ns
    bench.folder = run / "second"
    bench.train_task(task, workers=2)
    assert json.loads((run / "second" / MODEL / "read.json").read_text()) == ["青", ["weights"]]
    assert (encoder / "layers/weights").stat().st_mtime_ns == before


@needs_ray
def test_a_network_waits_for_a_gpu_only_where_there_is_one(bench: Bench, ray: Any) -> None:
    asked = []

    class Asked(Counted):
        def cluster_resources(self) -> dict[str, float]:
            return {"CPU": 2.0, "GPU": 2.0}

        def remote(self, **options: Any) -> Any:
            asked.append((options["num_cpus"], options["num_gpus"]))
            return self._ray.remote(**{**options, "num_gpus": 0})

    class Trees(CountingTask):
        is_network: ClassVar[bool] = False  # type: ignore[assignment]

    bench.training_map = RayTrainingMap(Asked(ray))
    bench.train(workers=2)
    bench.train_task(Trees(7, "", bench.folder / LOG, option=1), workers=2)
    assert asked == [(1, 1), (1, 0)]
