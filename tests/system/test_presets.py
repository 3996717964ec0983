"""The presets that people use, on a few articles of the sample: trained, killed, resumed, predicted with, checked."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.data.read import iter_articles
from pipeline.nn.openvino_engine import NETWORK, WEIGHTS
from pipeline.submission import read_submission
from tests.support.command_line import Cli, TinyRun
from tests.support.paths import SAMPLE

FAST = ("--preset", "fast", "--limit", "40", "--set", "n_folds=2")
CPU = (
    *("--preset", "cpu", "--limit", "8", "--set", "n_folds=2", "--set", "tagger.encoder=builtin:e5-zh-3"),
    *("--set", "tagger.training.max_epochs=1", "--set", "rerank.n_estimators=20"),
)
N_ANSWERED = 34
"""More than a chunk of 32, so that two workers have something to do."""
BARE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk", "PYTHONHASHSEED": "99"}
KINDS = {".csv", ".gz", ".json", ".jsonl", ".safetensors", ".txt", ".yaml"}
"""Of the files of a run: none of them is code or brings code. A network for OpenVINO, a graph of its own operations and
their numbers, lies beside the tagger alone."""
WAIT_S = 300


@dataclass(frozen=True)
class Place:
    """A working folder with a trained run in it."""

    cli: Cli
    run: TinyRun
    source: Path

    def predict(self, workers: int, *options: str) -> dict[str, bytes]:
        """Answer and check; return upload file, CSV and details."""
        folder = Path("-".join([f"workers-{workers}", *options[-1:]]))
        arguments = ("--input", self.source, "--output", folder / "a.txt", "--details", folder / "a.jsonl", *options)
        done = self.cli.run("predict", "--run", self.run.name, *arguments, "--workers", workers, cwd=self.run.cwd)
        assert done.code == 0, done.err
        checked = self.cli.run("check", "--submission", folder / "a.txt", "--input", self.source, cwd=self.run.cwd)
        assert (checked.code, checked.out) == (0, f"{folder}/a.txt: valid\n")
        return {path.name: path.read_bytes() for path in (self.run.cwd / folder).glob("[!.]*")}


def train(cli: Cli, cwd: Path, options: tuple[str, ...], *, workers: int) -> Place:
    source = cwd / "in.jsonl"
    lines = (SAMPLE / "train.jsonl").read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join(lines[-N_ANSWERED:]))
    arguments = ("--train", SAMPLE / "train.jsonl", "--run", "r", "--set", f"workers={workers}")
    done = cli.run("train", *options, *arguments, cwd=cwd)
    assert (done.code, done.out) == (0, "models/r\n"), done.err
    return Place(cli, TinyRun(cwd, "r"), source)


@pytest.fixture(scope="module")
def fast(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return train(cli, tmp_path_factory.mktemp("fast"), FAST, workers=2)


@pytest.fixture(scope="module")
def cpu(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = train(cli, tmp_path_factory.mktemp("cpu"), CPU, workers=1)
    yield place
    for weights in (*place.run.cwd.rglob("*.safetensors"), *place.run.cwd.rglob(WEIGHTS)):
        weights.unlink()  # a hundred megabytes each that pytest would keep


@pytest.fixture(scope="module")
def answers_of_cpu(cpu: Place) -> dict[str, bytes]:
    return cpu.predict(1)


def figures(place: Place) -> dict[str, object]:
    found: dict[str, object] = json.loads((place.run.path / "metrics.json").read_bytes())
    return found


def test_fast_learns_and_answers_the_same_with_one_worker_and_two(fast: Place) -> None:
    assert figures(fast)["preset"] == "fast"
    assert figures(fast)["out_of_fold"]["entity_f1"] >= 0.5
    answers = fast.predict(1)
    assert fast.predict(2) == answers
    assert answers["a.txt"].count(b"\n") == N_ANSWERED


def test_cpu_answers_every_article(cpu: Place, answers_of_cpu: dict[str, bytes]) -> None:
    assert figures(cpu)["preset"] == "cpu"
    assert "tagger" in figures(cpu)["seconds"]
    answers = read_submission(cpu.run.cwd / "workers-1" / "a.txt")
    assert list(answers) == [article.news_id for article in iter_articles(cpu.source, labelled=False)]
    assert all(1 <= len(entities) <= 3 for entities in answers.values())
    assert set(answers_of_cpu) == {"a.txt", "a.csv", "a.jsonl"}


def test_cpu_answers_the_same_by_either_engine(cpu: Place, answers_of_cpu: dict[str, bytes]) -> None:
    pytest.importorskip("openvino")
    assert cpu.predict(1, "--encoder-engine", "openvino") == answers_of_cpu
    by_torch = cpu.predict(1, "--encoder-engine", "torch")
    assert by_torch["a.txt"] == answers_of_cpu["a.txt"]
    for ours, theirs in zip(*(files["a.jsonl"].splitlines() for files in (by_torch, answers_of_cpu)), strict=True):
        scores = [[entity["score"] for entity in json.loads(line)["entities"]] for line in (ours, theirs)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_runs_hold_no_other_kinds_of_files(fast: Place, cpu: Place) -> None:
    for place in (fast, cpu):
        found = [path for path in place.run.path.rglob("*") if path.is_file() and path.name != ".lock"]
        assert len(found) > 20
        converted = [path for path in found if path.name in (NETWORK, WEIGHTS)]
        assert {path.suffix for path in found if path not in converted} <= KINDS
        where = {"tagger/model"} if place is cpu and find_spec("openvino") else set()
        assert {str(path.parent.relative_to(place.run.path)) for path in converted} == where


@pytest.mark.slow
def test_cpu_is_the_same_with_two_workers(
    cli: Cli, cpu: Place, answers_of_cpu: dict[str, bytes], tmp_path: Path
) -> None:
    assert cpu.predict(2) == answers_of_cpu
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "encoders").symlink_to(cpu.run.cwd / "models" / "encoders")
    assert train(cli, tmp_path, CPU, workers=2).run.contents == cpu.run.contents


@pytest.mark.slow
@pytest.mark.parametrize("ready", ["rerank/folds/1/done.json", "sentiment/tfidf/folds/0/done.json"])
def test_fast_killed_and_resumed_elsewhere_is_the_same(cli: Cli, fast: Place, tmp_path: Path, ready: str) -> None:
    """Killed with two workers; resumed with one, in another locale, the hashes of strings seeded anew."""
    arguments = ("train", *FAST, "--train", SAMPLE / "train.jsonl", "--run", "r")
    process = cli.start(*arguments, "--set", "workers=2", cwd=tmp_path)
    deadline = time.monotonic() + WAIT_S
    while not (tmp_path / "models" / "r" / ready).is_file():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "models" / "r" / "manifest.json").exists()
    done = cli.run(*arguments, "--set", "workers=1", "--resume", cwd=tmp_path, env=BARE)
    assert done.code == 0, done.err
    resumed = Place(cli, TinyRun(tmp_path, "r"), fast.source)
    assert resumed.run.contents == fast.run.contents
    assert resumed.predict(1) == fast.predict(1)
    assert list(tmp_path.rglob("*.tmp")) == []
