"""``models/<run>/``: every file name of a run, its progress, its lock, and the check on loading.

A run is *finished* once its manifest is written, last of all. Until then ``progress.json`` says
which stages are done, so that ``--resume`` goes on at the first one that is not.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.artifacts.files import atomic_write_bytes, atomic_write_json, read_json, write_errors
from pipeline.artifacts.inputs import sha256_file
from pipeline.artifacts.manifest import SCHEMA_VERSION, DataFile, environment
from pipeline.artifacts.naming import validate_run_name
from pipeline.artifacts.own_files import open_locked
from pipeline.artifacts.stages import stage_key
from pipeline.errors import ArtifactError, ConfigError

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
REQUEST = "request.json"
UNHASHED = (
    *(MANIFEST, "progress.json", REQUEST, ".lock", "metrics.json", "log.jsonl", "log.txt"),
    *("oof", "report", "snapshots"),
)
"""Top-level names that prediction does not read, and that may change after the run."""
SEAL = "sha256"
"""Of the manifest itself, without this entry."""
TRAIN_HINT = "python run.py train"
UNKNOWN = "unknown"
"""Preset of a run whose manifest names none."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run, and what is known of their state."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def config(self) -> Path:
        """The fully resolved configuration."""
        return self.path / "config.yaml"

    @property
    def request(self) -> Path:
        """The files and bounds that the run was begun with, for ``--resume``."""
        return self.path / REQUEST

    @property
    def manifest(self) -> Path:
        """Origin and checksums; written last."""
        return self.path / MANIFEST

    @property
    def metrics(self) -> Path:
        """Figures of the run."""
        return self.path / "metrics.json"

    @property
    def log_jsonl(self) -> Path:
        """Machine-readable progress."""
        return self.path / "log.jsonl"

    @property
    def log_text(self) -> Path:
        """The full log."""
        return self.path / "log.txt"

    @property
    def progress(self) -> Path:
        """Finished stages, for ``--resume``."""
        return self.path / "progress.json"

    @property
    def snapshots(self) -> Path:
        """Folder of unfinished training states."""
        return self.path / "snapshots"

    @property
    def report(self) -> Path:
        """The self-contained report page."""
        return self.path / "report" / "index.html"

    @property
    def not_needed(self) -> tuple[Path, ...]:
        """What of the run is not read to predict."""
        return tuple(self.path / name for name in UNHASHED if name != MANIFEST)

    @property
    def preset(self) -> str:
        """The set of options that the finished run began with, ``UNKNOWN`` where its manifest names none."""
        return str(self.read_manifest().get("preset") or UNKNOWN)

    def stage(self, name: str) -> Path:
        """Return the folder of a stage's models."""
        return self.path / name

    def oof(self, stage: str) -> Path:
        """Return the table of a stage's out-of-fold scores."""
        return self.path / "oof" / f"{stage}.csv"

    @classmethod
    def create(cls, models_dir: Path, name: str, *, resume: bool = False) -> RunFolder:
        """Make the folder of a run, or take up an existing one with ``resume``.

        Raises:
            ConfigError: a bad name, a folder that cannot be made, or a run that exists already.
        """
        run = cls.named(models_dir, name, resume=resume)
        with write_errors(run.path):
            run.path.mkdir(parents=True, exist_ok=True)
        return run

    @classmethod
    def named(cls, models_dir: Path, name: str, *, resume: bool = False) -> RunFolder:
        """Return a run that ``claim`` will make the folder of, or an existing one with ``resume``.

        Raises:
            ConfigError: a bad name, a path that cannot be that of a folder, or a run that exists already.
        """
        run = cls(models_dir / validate_run_name(name))
        with write_errors(run.path):
            exists = run.path.exists() and any(entry.name != ".lock" for entry in run.path.iterdir())
            for parent in run.path.parents:
                if parent.exists() and not parent.is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if exists and not resume:
            raise ConfigError(f"{run.path}: the run exists already", hint="add --resume, or choose another --run NAME")
        return run

    @classmethod
    def load(cls, path: Path) -> RunFolder:
        """Open a finished run and check that its files are those it saved.

        Raises:
            ArtifactError: no such run, unfinished, of another schema version, or a file missing or changed.
        """
        run = cls(path)
        if not path.is_dir():
            raise ArtifactError(f"{path}: no such run folder", hint=TRAIN_HINT)
        for relative, expected in run.checksums().items():
            file = path / relative
            if not file.is_file():
                raise ArtifactError(f"{file}: missing from the run")
            if sha256_file(file) != expected:
                raise ArtifactError(f"{file}: changed since the run was saved (its SHA-256 differs)")
        return run

    def checksums(self) -> dict[str, str]:
        """Return the checksum that each file of the run has by the manifest.

        Raises:
            ArtifactError: see ``read_manifest``; or a file lies outside the run.
        """
        found: dict[str, str] = self.read_manifest()["files"]
        for relative in found:
            if Path(relative).is_absolute() or ".." in Path(relative).parts:
                raise ArtifactError(f"{self.manifest}: names {relative!r}, which lies outside the run")
        return found

    def read_manifest(self) -> dict[str, Any]:
        """Return the manifest.

        Raises:
            ArtifactError: the run is unfinished, or saved with another schema version.
        """
        if not self.manifest.is_file():
            hint = f"{TRAIN_HINT} --run {self.name} --resume"
            raise ArtifactError(f"{self.path}: the run is unfinished (no {MANIFEST})", hint=hint)
        content = read_json(self.manifest)
        manifest: dict[str, Any] = content if isinstance(content, dict) else {}
        saved = manifest.get("schema_version")
        if saved != SCHEMA_VERSION:
            raise ArtifactError(
                f"{self.manifest}: saved with schema version {saved}, this program reads {SCHEMA_VERSION}",
                hint="train the run again",
            )
        if not isinstance(manifest.get("files"), dict):
            raise ArtifactError(f"{self.manifest}: holds no list of files")
        if manifest.get(SEAL, seal := _seal(manifest)) != seal:  # runs of earlier versions have none
            raise ArtifactError(f"{self.manifest}: changed since the run was saved (its SHA-256 differs)")
        return manifest

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the folder, made if missing, for one training; the run counts as unfinished until ``finish``.

        Raises:
            ArtifactError: another training holds it.
        """
        try:
            with write_errors(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
                lock = open_locked(self.path / ".lock")
        except ConfigError as error:
            if isinstance(error.__cause__, BlockingIOError):
                raise ArtifactError(f"{self.path}: another training is using this run folder") from error
            raise
        with lock:
            self.manifest.unlink(missing_ok=True)
            for leftover in self.path.rglob(".*.tmp"):  # of a training that was killed
                if leftover.is_file() and leftover.parent != self.report.parent:  # a report may be in the making
                    leftover.unlink(missing_ok=True)
            yield

    def stage_done(self, name: str, key: str) -> bool:
        """Tell whether a stage was finished under the same key and its files are still as it left them."""
        entry = self._read_progress().get(name)
        if entry is None:
            return False
        stale = self._stale(entry, key)
        if stale:
            logger.info("stage %s runs again: %s changed since it was finished", name, ", ".join(stale))
        return not stale

    def _stale(self, entry: Mapping[str, Any], key: str) -> list[str]:
        stale = [] if entry["key"] == key else ["configuration or data"]
        return stale + [file for file, expected in entry["files"].items() if self._digest(file) != expected]

    def mark_stage(self, name: str, *, key: str, files: Iterable[Path] = (), seconds: float = 0.0) -> None:
        """Note a finished stage. ``files`` lie in the run folder; a folder stands for all it holds."""
        flat = (file for item in files for file in (item.rglob("*") if item.is_dir() else [item]))
        checksums = {self._relative(file): sha256_file(file) for file in sorted(flat) if not file.is_dir()}
        entry = {"key": key, "seconds": round(seconds, 3), "files": checksums}
        atomic_write_json(self.progress, self._read_progress() | {name: entry})

    def take_over(self, other: RunFolder, name: str, *, key: str, names: Mapping[str, str]) -> bool:
        """Copy a stage that another run finished under the same key; tell whether there was such a stage, unchanged.

        Args:
            other: the other run.
            name: of the stage.
            key: of the stage in this run.
            names: relative path of a file in the other run to its path here, where the two differ.
        """
        entry = other._read_progress().get(name)
        if entry is None or other._stale(entry, key):
            return False
        for relative in entry["files"]:
            target = self.path / names.get(relative, relative)
            atomic_write_bytes(target, (other.path / relative).read_bytes())
        files = {names.get(relative, relative): digest for relative, digest in entry["files"].items()}
        atomic_write_json(self.progress, self._read_progress() | {name: {**entry, "files": files}})
        return True

    def stage_seconds(self) -> dict[str, float]:
        """Return the wall-clock time of each finished stage."""
        return {name: entry["seconds"] for name, entry in self._read_progress().items()}

    def finish(
        self,
        *,
        command: Sequence[str],
        seed: int,
        threads: int,
        data: Iterable[DataFile] = (),
        device: str = "cpu",
        preset: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the manifest, with a checksum of every model file in the folder. Call it last.

        Args:
            command: the command line.
            seed: of the run.
            threads: used in training.
            data: the files the run was trained on.
            device: trained on.
            preset: that the configuration began with; None where it began with none.
            facts: anything else a stage compares on loading (segmentation backend, vocabulary hash).
        """
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "created": datetime.now(UTC).isoformat(timespec="microseconds"),
            "command": list(command),
            "preset": preset,
            "seed": seed,
            "threads": threads,
            "device": device,
            "facts": dict(facts or {}),
            "data": [file.to_dict() for file in data],
            "seconds": self.stage_seconds(),
            **environment(),
            "files": {self._relative(file): sha256_file(file) for file in self._model_files()},
        }
        atomic_write_json(self.manifest, manifest | {SEAL: _seal(manifest)})

    def _model_files(self) -> list[Path]:
        files = (file for file in self.path.rglob("*") if file.is_file() and file.suffix != ".tmp")
        return sorted(file for file in files if file.relative_to(self.path).parts[0] not in UNHASHED)

    def _relative(self, file: Path) -> str:
        return file.relative_to(self.path).as_posix()

    def _digest(self, relative: str) -> str | None:
        file = self.path / relative
        return sha256_file(file) if file.is_file() else None

    def _read_progress(self) -> dict[str, Any]:
        progress: dict[str, Any] = read_json(self.progress) if self.progress.is_file() else {}
        return progress


def _seal(manifest: Mapping[str, Any]) -> str:
    """Hash all that a manifest says, but the hash itself."""
    return stage_key({name: value for name, value in manifest.items() if name != SEAL})
