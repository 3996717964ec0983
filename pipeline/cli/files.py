"""Which files a command takes when none is named."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from pipeline.errors import ConfigError, DataError

SAMPLES = (
    Path(__file__).resolve().parents[2] / "data" / "sample",
    Path(sysconfig.get_path("data")) / "share" / "core-entity-emotion" / "sample",
)
"""Where the sample may lie: in a checkout, or where pip put it (``data-files`` of pyproject.toml)."""
OFFICIAL_TRAIN = Path("data/coreEntityEmotion_train.txt")
OFFICIAL_TEST = Path("data/coreEntityEmotion_test_stage1.txt")
MODELS = Path("models")
SUBMISSIONS = Path("submissions")


def default_train() -> Path:
    """Return the official training file where it exists, else the sample's.

    Raises:
        DataError: neither is there.
    """
    return _official_or_sample(OFFICIAL_TRAIN, "train.jsonl", option="--train")


def default_input() -> Path:
    """Return the official test file where it exists, else the sample's.

    Raises:
        DataError: neither is there.
    """
    return _official_or_sample(OFFICIAL_TEST, "test.jsonl", option="--input")


def _official_or_sample(official: Path, name: str, *, option: str) -> Path:
    if official.is_file():
        return official
    try:
        return sample(name)
    except ConfigError as error:
        raise DataError(f"{official}: no such file", hint=f"name a file of articles by {option} FILE") from error


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
