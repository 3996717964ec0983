"""Work over articles on Ray: the results of the local engine, also after a worker was lost, and plain errors."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.artifacts import CarriedFiles, open_run
from pipeline.cli.engine import Engine, maps_of
from pipeline.data.read import iter_articles
from pipeline.errors import ArtifactError, ConfigError
from pipeline.runtime.parallel import map_chunks
from pipeline.runtime.ray_engine import ADDRESS, enter_if_there, lend, ray_chunk_map, started_ray
from pipeline.runtime.trainings import train_here
from pipeline.schema import Article
from pipeline.workflow.predict_stream import CHUNK_SIZE, predict_stream, predictor_load
from tests.support.command_line import Cli, TinyRun
from tests.support.on_ray import ELSEWHERE, PROGRAM_PATH, needs_ray, ray_actors


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)


@pytest.fixture
def folder(tiny_run: TinyRun, tmp_path: Path) -> Path:
    tiny_run.copy_to(tmp_path)
    return tmp_path


@needs_ray
def test_a_lost_worker_costs_nothing(folder: Path, tiny_data: Path) -> None:
    run = open_run(folder / "models", "tiny")
    articles = [*iter_articles(tiny_data / "all.jsonl", labelled=False)] * 8
    n_killed = 0

    def stream() -> Iterator[Article]:
        nonlocal n_killed
        for number, article in enumerate(articles):
            if number == 7 * CHUNK_SIZE:  # results of the first chunk have come back: both workers are at work
                os.kill(ray_actors("RayWorker")[0].pid, signal.SIGKILL)
                n_killed += 1
            yield article

    assert len(articles) > 10 * CHUNK_SIZE
    with ray_chunk_map(2) as chunk_map:
        found = list(predict_stream(run, stream(), workers=2, chunk_map=chunk_map))
    assert n_killed == 1
    assert found == list(predict_stream(run, articles, workers=1))


@needs_ray
def test_predict_writes_the_bytes_of_the_local_engine(cli: Cli, folder: Path, tiny_data: Path) -> None:
    answers = {}
    for engine in ("local", "ray"):
        files = [f"{engine}.txt", f"{engine}.csv", f"{engine}.jsonl"]
        names = ("--output", files[0], "--details", files[2], "--workers", 2, "--engine", engine)
        done = cli.run("predict", "--input", tiny_data / "all.jsonl", *names, cwd=folder, env=PROGRAM_PATH)
        assert (done.code, done.out) == (0, f"{engine}.txt\n"), done.err
        answers[engine] = [(folder / name).read_bytes() for name in files]
    assert answers["ray"] == answers["local"]


@needs_ray
def test_train_writes_the_run_of_the_local_engine(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    options = (
        "--set",
        "workers=2",
        "--set",
        "sentiment.members=[tfidf,ian]",
        "--set",
        "relevance.name=soft_align",
        "--set",
        "relevance.training.max_epochs=1",
    )
    data = ("--train", tiny_data / "train.jsonl", "--dev", tiny_data / "test.jsonl")
    runs = {}
    for engine in ("local", "ray"):
        names = ("--run", engine, "--engine", engine)
        code = ELSEWHERE if engine == "ray" else None
        done = cli.run("train", "--preset", "tiny", *data, *options, *names, cwd=tmp_path, env=PROGRAM_PATH, code=code)
        assert (done.code, done.out) == (0, f"models/{engine}\n"), done.err
        runs[engine] = TinyRun(tmp_path, engine)
    configs = [(run.path / "config.yaml").read_bytes() for run in runs.values()]
    assert configs[0] == configs[1]
    assert "candidates/pruners.json" in runs["local"].contents
    assert runs["ray"].contents == runs["local"].contents
    logs = [len((run.path / "log.jsonl").read_bytes().splitlines()) for run in runs.values()]
    assert logs[0] == logs[1] > 0
    for name in ("rerank", "sentiment"):
        assert (runs["ray"].path / f"oof/{name}.csv").read_bytes() == (
            runs["local"].path / f"oof/{name}.csv"
        ).read_bytes()


@needs_ray
def test_a_worker_that_cannot_load_says_why(folder: Path, tiny_data: Path) -> None:
    run = open_run(folder / "models", "tiny")
    (run.path / "rerank/model/model.txt").unlink()
    articles = iter_articles(tiny_data / "all.jsonl", labelled=False)
    with (
        ray_chunk_map(1) as chunk_map,
        pytest.raises(ArtifactError, match=r"rerank/model/model.txt: cannot be read"),
    ):
        next(predict_stream(run, articles, workers=1, chunk_map=chunk_map))


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "--input", "all.jsonl"),
        ("predict", "--input", "."),
        ("train", "--train", "train.jsonl", "--preset", "tiny", "--run", "new"),
    ],
    ids=["file", "parts", "train"],
)
def test_ray_is_missing(cli: Cli, folder: Path, tiny_data: Path, command: tuple[str, ...]) -> None:
    for file in tiny_data.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    without = "import sys; sys.modules['ray'] = None; from pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = cli.run(*command, "--engine", "ray", cwd=folder, code=without)
    assert (done.code, done.out) == (2, "")
    assert done.message == "--engine ray: Ray is not installed"
    assert not (folder / "models/new").exists()


def test_processes_of_a_launcher_do_not_train_on_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.runtime.processes.n_processes", lambda: 2)
    with (
        pytest.raises(ConfigError, match="--engine ray: a launcher's processes train together"),
        maps_of(Engine.RAY, 2),
    ):
        pass
    with maps_of(Engine.LOCAL, 2) as maps:
        assert maps == (map_chunks, train_here)


def test_missing_ray_is_told_by_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match="Ray is not installed"), ray_chunk_map(2):
        pass


def test_what_ray_says_is_not_among_the_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=lambda **options: None, shutdown=lambda: None))
    with started_ray(1):
        sys.stdout.write("a node was lost\n")
    assert capsys.readouterr() == ("", "a node was lost\n")


def test_a_folder_that_a_machine_lacks_is_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    enter_if_there(tmp_path / "inner")
    assert Path.cwd() == tmp_path / "inner"
    enter_if_there(tmp_path / "elsewhere")
    assert Path.cwd() == tmp_path / "inner"


class Store:
    """Ray's store, in this process."""

    def put(self, value: CarriedFiles) -> CarriedFiles:
        return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("is_cluster", [True, False])
def test_a_run_is_carried_to_the_workers_of_a_cluster_alone(
    folder: Path, tiny_data: Path, monkeypatch: pytest.MonkeyPatch, is_cluster: bool
) -> None:
    articles = [*iter_articles(tiny_data / "test.jsonl", labelled=False)]
    run = open_run(folder / "models", "tiny")
    wanted = list(predict_stream(run, articles, workers=1))
    if is_cluster:
        monkeypatch.setenv(ADDRESS, "head:6379")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=lambda stored: stored))
    load = lend(Store(), predictor_load(run))
    run.path.rename(folder / "models/away")
    if not is_cluster:
        with pytest.raises(ArtifactError, match="models/tiny"):
            load()
        return
    assert load().predict(articles) == wanted  # after the folder that it was loaded from is gone


def test_a_run_that_arrives_changed_is_not_used(folder: Path) -> None:
    load = predictor_load(open_run(folder / "models", "tiny"))
    files = dict(load.pack().files)
    assert not any(name.startswith(("oof/", "log.")) for name in files)
    files["rerank/model/model.txt"] = files["rerank/model/model.txt"][:-1]
    with pytest.raises(ArtifactError, match=r"tiny/rerank/model/model\.txt: changed since the run was saved"):
        load.load_packed(CarriedFiles(files))
