"""Which files a command takes when none is named."""

from __future__ import annotations

import atexit
import shutil
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from pipeline.cli.program import SCRIPT
from pipeline.errors import ArtifactError, ConfigError, DataError

if TYPE_CHECKING:
    from pipeline.artifacts import RunFolder

SAMPLES = (
    Path(__file__).resolve().parents[2] / "data" / "sample",
    Path(sysconfig.get_path("data")) / "share" / "core-entity-emotion" / "sample",
)
"""Where the sample may lie: in a checkout, or where pip put it (``data-files`` of pyproject.toml)."""
OFFICIAL_TRAIN = Path("data/coreEntityEmotion_train.txt")
OFFICIAL_TEST = Path("data/coreEntityEmotion_test_stage1.txt")
MODELS = Path("models")
SUBMISSIONS = Path("submissions")
N_RUNS_NAMED = 5
"""Where a run is not there: of those that are."""


def default_train() -> Path:
    """Return the official training file; the sample is taken by ``demo`` alone, or where it is named.

    Raises:
        DataError: it is not there.
    """
    return _official(OFFICIAL_TRAIN, option="--train")


def default_input() -> Path:
    """Return the official test file; see ``default_train``.

    Raises:
        DataError: it is not there.
    """
    return _official(OFFICIAL_TEST, option="--input")


def _official(path: Path, *, option: str) -> Path:
    if not path.is_file():
        hint = f"name a file of articles by {option} FILE; {SCRIPT} demo shows all on the sample"
        raise DataError(f"{path}: no such file", hint=hint)
    return path


def chosen_run(name: str | None) -> RunFolder:
    """Open the run of that name, or the newest finished one.

    Raises:
        ConfigError: the name is not one a run can have.
        ArtifactError: there is no such run (the newest there are named), or it is unfinished or not as saved.
    """
    from pipeline.artifacts import open_run, validate_run_name

    if name is not None and not (path := MODELS / validate_run_name(name)).is_dir() and (there := _newest_runs()):
        raise ArtifactError(f"{path}: no such run folder", hint=f"the newest runs there: {', '.join(there)}")
    return open_run(MODELS, name)


def readable_run(name: str | None) -> RunFolder:
    """Open a run as ``chosen_run`` does, or the one at a URI: that is copied to this machine, until this process ends.

    Raises:
        ConfigError: the name or URI cannot be that of a run.
        ArtifactError: there is no such run, or it is unfinished or not as saved.
    """
    if name is None or "://" not in name:
        return chosen_run(name)
    from pipeline.artifacts import fetch_run

    folder = Path(mkdtemp(prefix="run-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return fetch_run(name, folder)


def _newest_runs() -> list[str]:
    """Return the names of finished runs, the newest first, at most ``N_RUNS_NAMED``."""
    manifests = sorted(MODELS.glob("*/manifest.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [path.parent.name for path in manifests[:N_RUNS_NAMED]]


def sample(name: str) -> Path:
    """Return a file of the shipped sample, relative to the current folder where it lies below it.

    Raises:
        ConfigError: the sample was not installed with the program.
    """
    found = [path for folder in SAMPLES if (path := folder / name).is_file()]
    if not found:
        raise ConfigError(
            f"{SAMPLES[0] / name}: the sample is not there",
            hint="it is the folder data/sample of the project's repository; or name a file of your own (see --help)",
        )
    path = found[0]
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def distinct_outputs(*paths: Path | None, inputs: tuple[Path, ...] = ()) -> None:
    """Refuse outputs that would overwrite each other or an input.

    Raises:
        ConfigError: two of the paths are the same file.
    """
    taken = {path.resolve(): path for path in inputs}
    for path in paths:
        if path is None:
            continue
        if path.resolve() in taken:
            raise ConfigError(f"{path}: would overwrite {taken[path.resolve()]}", hint="give another file name")
        taken[path.resolve()] = path
