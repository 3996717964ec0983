"""Which run is meant: by its name, the newest, or the newest unfinished one."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.artifacts.files import atomic_write_bytes, read_json
from pipeline.artifacts.naming import validate_run_name
from pipeline.artifacts.run_folder import MANIFEST, TRAIN_HINT, RunFolder
from pipeline.artifacts.stored import StoredFile, StoredFolder
from pipeline.errors import ArtifactError

logger = logging.getLogger(__name__)


def newest_run(models_dir: Path) -> RunFolder:
    """Return the run finished last, by the time in its manifest; ``RunFolder.load`` checks it.

    Raises:
        ArtifactError: there is no finished run.
    """
    finished = []
    for path in models_dir.glob(f"*/{MANIFEST}"):
        try:
            manifest = read_json(path)
        except ArtifactError as error:
            logger.warning("not a run: %s", error)
            continue
        if isinstance(manifest, dict) and isinstance(manifest.get("created"), str):
            finished.append((manifest["created"], path.parent))
    if not finished:
        raise ArtifactError(f"{models_dir}: no finished run", hint=TRAIN_HINT)
    return RunFolder(max(finished)[1])


def open_run(models_dir: Path, name: str | None = None) -> RunFolder:
    """Load and check the run of that name, or the newest finished one.

    Raises:
        ConfigError: the name is not one a run can have.
        ArtifactError: see ``newest_run`` and ``RunFolder.load``.
    """
    run = newest_run(models_dir) if name is None else RunFolder(models_dir / validate_run_name(name))
    return RunFolder.load(run.path)


def fetch_run(uri: str, into: Path) -> RunFolder:
    """Copy the run at a URI into a folder of this machine, and load and check it.

    Args:
        uri: of the run's folder; its last part is the run's name.
        into: gets a folder of that name.

    Raises:
        ConfigError: the URI is none that a file system takes, or its last part no name of a run.
        ArtifactError: there is no finished run, or one that is not as it was saved.
    """
    source = StoredFolder.at(uri)
    run = RunFolder(into / validate_run_name(source.name.rpartition("/")[2]))
    _fetch(source.file(MANIFEST), run.manifest)
    for relative in run.checksums():
        _fetch(source.file(relative), run.path / relative)
    return RunFolder.load(run.path)


def _fetch(source: StoredFile, target: Path) -> None:
    try:
        with source.open() as file:
            content = file.read()
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0]
        raise ArtifactError(f"{source}: cannot be read ({reason})") from error
    atomic_write_bytes(target, content)


def newest_unfinished(models_dir: Path) -> RunFolder:
    """Return the run worked on last that has no manifest, for ``--resume`` without a name.

    Raises:
        ArtifactError: there is none.
    """
    folders = [path.parent for path in models_dir.glob("*/progress.json") if not (path.parent / MANIFEST).exists()]
    if not folders:
        raise ArtifactError(f"{models_dir}: no unfinished run to resume", hint="name one with --run NAME")
    return RunFolder(max(folders, key=lambda path: ((path / "progress.json").stat().st_mtime_ns, path.name)))
