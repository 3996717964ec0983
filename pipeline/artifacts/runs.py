"""Which run is meant: by its name, the newest, or the newest unfinished one."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.artifacts.files import read_json
from pipeline.artifacts.naming import validate_run_name
from pipeline.artifacts.run_folder import MANIFEST, TRAIN_HINT, RunFolder
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


def newest_unfinished(models_dir: Path) -> RunFolder:
    """Return the run worked on last that has no manifest, for ``--resume`` without a name.

    Raises:
        ArtifactError: there is none.
    """
    folders = [path.parent for path in models_dir.glob("*/progress.json") if not (path.parent / MANIFEST).exists()]
    if not folders:
        raise ArtifactError(f"{models_dir}: no unfinished run to resume", hint="name one with --run NAME")
    return RunFolder(max(folders, key=lambda path: ((path / "progress.json").stat().st_mtime_ns, path.name)))
