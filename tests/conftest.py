"""Options and fixtures of the whole suite: golden files, cases, and runs trained by the real command line."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from pipeline.cli import main
from pipeline.data.lines import tell
from tests.support.command_line import Cli, Done, TinyRun, TinyRuns
from tests.support.paths import GOLDEN, TINY_ARTICLES

N_TRAIN = 44
"""Articles of tiny.jsonl that are trained on; the others are held out."""

os.environ["HF_HUB_OFFLINE"] = "1"  # every model comes from a folder
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", metavar="FILE", help="conformance cases to run instead of tests/files/cases.jsonl")
    parser.addoption("--update-golden", action="store_true", help="rewrite the files of tests/golden; review the diff")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their length: their content may hold the time (gzip), and workers must find the same names."""
    return f"{argname}-{len(val)}-bytes" if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests out unless -m asks for them, or they are all that was named."""
    if not config.option.markexpr:
        slow = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("fuzz")]
        if len(slow) < len(items):
            config.hook.pytest_deselected(items=slow)
            items[:] = [item for item in items if item not in slow]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a file of tests/golden, or rewrite the file with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_bytes(text.encode())
        assert path.read_bytes().decode() == text, f"{path} differs; --update-golden rewrites it"

    return compare


@pytest.fixture(scope="session")
def cli() -> Cli:
    """Run commands of run.py as processes."""
    return Cli()


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all.jsonl, train.jsonl and test.jsonl: invented articles with a planted signal."""
    folder = tmp_path_factory.mktemp("tiny")
    lines = TINY_ARTICLES.read_bytes().splitlines(keepends=True)
    for name, part in {"all": lines, "train": lines[:N_TRAIN], "test": lines[N_TRAIN:]}.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(part))
    return folder


@pytest.fixture(scope="session")
def tiny_runs(cli: Cli, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> TinyRuns:
    """Train runs of preset tiny on demand, one for each setting."""
    return TinyRuns(cli, tiny_data / "train.jsonl", tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def tiny_run(tiny_runs: TinyRuns) -> TinyRun:
    """Return a run of preset tiny trained on the tiny articles, one worker."""
    return tiny_runs.train()


@pytest.fixture
def run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Done]]:
    """Run a command in this process, with the temporary folder as working folder: spares seconds of imports."""
    root, package = logging.getLogger(), logging.getLogger("pipeline")
    handlers, level, on_term = list(root.handlers), package.level, signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    tell.cache_clear()  # a message comes once a process, and a command has one of its own

    def run(*arguments: object) -> Done:
        code = main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    yield run
    root.handlers[:] = handlers
    package.setLevel(level)
    signal.signal(signal.SIGTERM, on_term)
