"""Which files a command takes when none is named."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import ConfigError

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
OFFICIAL_TRAIN = Path("data/coreEntityEmotion_train.txt")
OFFICIAL_TEST = Path("data/coreEntityEmotion_test_stage1.txt")
MODELS = Path("models")
SUBMISSIONS = Path("submissions")


def default_train() -> Path:
    """Return the official training file where it exists, else the sample's."""
    return OFFICIAL_TRAIN if OFFICIAL_TRAIN.is_file() else sample("train.jsonl")


def default_input() -> Path:
    """Return the official test file where it exists, else the sample's."""
    return OFFICIAL_TEST if OFFICIAL_TEST.is_file() else sample("test.jsonl")


def sample(name: str) -> Path:
    """Return a file of the shipped sample, relative to the current folder where it lies below it."""
    path = SAMPLE / name
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
