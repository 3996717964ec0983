"""The program as a user runs it: processes, their exit codes and messages, and trained runs kept for the session."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from pipeline.artifacts import read_json
from tests.support.paths import ROOT

RUN_PY = ROOT / "run.py"
TIMEOUT_S = 300
WITH_TIMES = ("figures.json", "stage.json")


@dataclass(frozen=True)
class Done:
    """A finished process."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """What stands on standard error that is an error or a trace of one."""
        marks = ("error:", "hint:", "Traceback", "  File ", "Exception", "usage", "Usage")
        return [line for line in self.err.splitlines() if line.startswith(marks)]

    @property
    def message(self) -> str:
        """The one error line; fails where there is none, several, or a traceback."""
        lines = [line for line in self.errors if not line.startswith("hint:")]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: "), self.err
        assert len(self.errors) <= 2, self.err
        return lines[0].removeprefix("error: ")


class Cli:
    """Starts ``run.py`` (or code that calls it) in a folder of the caller's choice."""

    def run(self, *arguments: object, cwd: Path, env: Mapping[str, str] | None = None, code: str | None = None) -> Done:
        """Run one command to its end.

        Args:
            arguments: as on the command line.
            cwd: working folder.
            env: variables set beside those of this process.
            code: Python text to run in place of run.py.
        """
        process = self.start(*arguments, cwd=cwd, env=env, code=code)
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def launch(
        self,
        n_processes: int,
        *arguments: object,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        code: str | None = None,
    ) -> list[Done]:
        """Run one command in several processes that belong together, as a launcher does; see ``run``.

        Needs ``pytest.mark.enable_socket``.
        """
        variables = [{**of_rank, **(env or {})} for of_rank in launcher_variables(n_processes)]
        with ThreadPoolExecutor(n_processes) as pool:
            return list(pool.map(lambda own: self.run(*arguments, cwd=cwd, env=own, code=code), variables))

    def start(
        self, *arguments: object, cwd: Path, env: Mapping[str, str] | None = None, code: str | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command in a process group of its own, as a terminal does."""
        program = [str(RUN_PY)] if code is None else ["-c", code]
        return subprocess.Popen(
            [sys.executable, *program, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            # A shell has Ctrl-C ignored by what it starts in the background, and by all that comes of that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def launcher_variables(n_processes: int) -> list[dict[str, str]]:
    """Return what a launcher tells each of several processes on this machine, in the order of their ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": str(n_processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(n_processes)]


@dataclass(frozen=True)
class TinyRun:
    """A finished run and where it was trained."""

    cwd: Path
    name: str

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.cwd / "models" / self.name

    @property
    def contents(self) -> dict[str, object]:
        """What prediction reads: the checksum of each file, or its JSON without what may differ (seconds, workers)."""
        files: dict[str, object] = read_json(self.path / "manifest.json")["files"]
        del files["config.yaml"]  # holds the number of workers
        for name in files:
            if Path(name).name in WITH_TIMES:
                files[name] = _without_seconds(read_json(self.path / name))
        return files

    def copy_to(self, folder: Path, name: str = "tiny") -> Path:
        """Copy the run folder to ``folder``/models."""
        target = folder / "models" / name
        shutil.copytree(self.path, target)
        return target


def _without_seconds(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_seconds(part) for key, part in value.items() if key != "seconds"}
    return [_without_seconds(part) for part in value] if isinstance(value, list) else value


class TinyRuns:
    """Trains with preset tiny through the command line; each setting once.

    Args:
        cli: starts the processes.
        train_file: labelled articles.
        cwd: working folder of every run.
    """

    def __init__(self, cli: Cli, train_file: Path, cwd: Path) -> None:
        self.cli = cli
        self.train_file = train_file
        self.cwd = cwd
        self._runs: dict[tuple[object, ...], TinyRun] = {}
        self._numbers = count()

    def train_all(self, settings: Sequence[Mapping[str, Any]]) -> list[TinyRun]:
        """Train a run of each setting, two at a time; a setting holds arguments of ``train``."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda setting: self.train(**setting), settings))

    def train(
        self,
        train_file: Path | None = None,
        *,
        seed: int = 7,
        workers: int = 1,
        hash_seed: str = "0",
        repeat: int = 0,
        shuffle: int = 0,
        env: Mapping[str, str] | None = None,
        overrides: Sequence[str] = (),
    ) -> TinyRun:
        """Return a run of these settings; ``repeat`` tells runs of equal settings apart, ``shuffle`` seeds an order."""
        source = train_file or self.train_file
        key = (source.read_bytes(), seed, workers, hash_seed, repeat, shuffle, tuple(sorted((env or {}).items())))
        key = (*key, *overrides)
        if key not in self._runs:
            name = f"run{next(self._numbers)}"
            file = source
            if shuffle:
                lines = source.read_bytes().splitlines(keepends=True)
                random.Random(shuffle).shuffle(lines)
                file = self.cwd / f"{name}.jsonl"
                file.write_bytes(b"".join(lines))
            options = [f"seed={seed}", f"workers={workers}", *overrides]
            arguments = [part for option in options for part in ("--set", option)]
            done = self.cli.run(
                *("train", "--preset", "tiny", "--run", name, "--train", file, *arguments),
                cwd=self.cwd,
                env={"PYTHONHASHSEED": hash_seed, **(env or {})},
            )
            assert done.code == 0, done.err
            assert done.out == f"models/{name}\n"
            self._runs[key] = TinyRun(self.cwd, name)
        return self._runs[key]

    def predict(
        self,
        run: TinyRun,
        input_file: Path,
        output: Path,
        *options: object,
        workers: int = 1,
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        """Predict with a run where it was trained; return the upload file, the CSV and the details in one."""
        details = output.with_suffix(".details.jsonl")
        done = self.cli.run(
            *("predict", "--run", run.name, "--input", input_file, "--output", output, "--details", details),
            *("--workers", workers, *options),
            cwd=run.cwd,
            env=env,
        )
        assert done.code == 0, done.err
        return b"".join(path.read_bytes() for path in (output, output.with_suffix(".csv"), details))
