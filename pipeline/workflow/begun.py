"""What a run was begun with, kept in its folder: ``train --run NAME --resume`` needs to be told nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.artifacts import RunFolder, atomic_write_json, read_json, sha256_file
from pipeline.config import DEFAULT_PRESET, Config, changed_config, flat_options, load_config
from pipeline.data.reading import Reading
from pipeline.errors import ArtifactError, ConfigError, DataError
from pipeline.workflow.run_config import load_run_config

MAY_DIFFER = ("workers",)
"""Options that change nothing about the models."""
MINUTES = "budget.minutes"


@dataclass(frozen=True)
class Begun:
    """The files and the bounds of a training; its options are in the run's configuration."""

    train: tuple[str, ...]
    """Paths of the training files, as they were given."""
    sha256: tuple[str, ...]
    """Of each."""
    dev: str | None = None
    limit: int | None = None
    skip_bad_rows: bool = False
    preset: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the files are read, as ``Reading.to_dict`` gives it."""
    planned: Mapping[str, Any] = field(default_factory=dict)
    """What a time to keep to has changed, as ``Plan.to_dict`` gives it; empty where there was none."""

    @property
    def changed(self) -> Mapping[str, Any]:
        """Options that the plan has chosen, by their full names."""
        found: Mapping[str, Any] = self.planned.get("changed", {})
        return found

    @property
    def how_read(self) -> Reading:
        """How the files are read."""
        return Reading.of(self.reading)

    def save(self, run: RunFolder) -> None:
        """Write it to the run folder."""
        values = asdict(self)
        if not self.planned:
            del values["planned"]
        atomic_write_json(run.request, values)

    @classmethod
    def load(cls, run: RunFolder) -> Begun:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: there is no such run, it does not say what it was begun with, or the file is damaged.
        """
        if not run.path.is_dir():
            raise ArtifactError(f"{run.path}: no such run folder", hint="leave --resume out to begin it")
        if not run.request.is_file() or not run.config.is_file():
            raise ArtifactError(
                f"{run.path}: does not say what it was begun with",
                hint="give --train, --preset and --set as its first command had them",
            )
        try:
            values: dict[str, Any] = read_json(run.request)
            begun = cls(**{**values, "train": tuple(values["train"]), "sha256": tuple(values["sha256"])})
        except (LookupError, TypeError) as error:
            raise ArtifactError(f"{run.request}: cannot be read ({error})") from error
        if not isinstance(begun.planned, dict) or not isinstance(begun.changed, dict):
            raise ArtifactError(f"{run.request}: cannot be read (planned is not a mapping)")
        if not begun.train or not all(isinstance(path, str) for path in begun.train):
            raise ArtifactError(f"{run.request}: names no training file")
        return begun

    def files(self, run: RunFolder) -> list[Path]:
        """Return the training files, after they were compared with what they were.

        Raises:
            DataError: one is missing or has changed.
        """
        hint = "name the files with --train"
        for name, digest in zip(self.train, self.sha256, strict=True):
            if not Path(name).exists():
                raise DataError(f"{name}: no such file; {run.path} was begun with it", hint=hint)
            if sha256_file(Path(name)) != digest:
                raise DataError(f"{name}: changed since {run.path} was begun with it (its SHA-256 differs)", hint=hint)
        return [Path(name) for name in self.train]


def reading_of_run(run: RunFolder) -> Reading:
    """Return how the files of a run are read; of an old run all of it is recognised."""
    return Begun.load(run).how_read if run.request.is_file() else Reading()


def stored_config(
    run: RunFolder, begun: Begun, *, preset: str | None, file: Path | None, overrides: Sequence[str]
) -> Config:
    """Return the options of a run that is gone on with; what is given beside may say the same, or other ``workers``.

    Raises:
        ConfigError: an option given is wrong, or not that of the run.
        ArtifactError: the run's configuration cannot be read.
    """
    stored = load_run_config(run.config)
    given = load_config(preset=preset or begun.preset or DEFAULT_PRESET, file=file, overrides=overrides)
    ours, theirs = flat_options(stored.to_dict()), flat_options(given.to_dict())
    named = [item.partition("=")[0].strip() for item in overrides]
    ours[MINUTES] = begun.planned.get("minutes", ours[MINUTES])
    chosen = {MINUTES, *begun.changed} if begun.planned else set()  # the run's, whatever a preset says
    everything = preset is not None or file is not None
    for key, value in theirs.items():
        is_given = everything or _names(key, named)
        if key in chosen and not _names(key, named):
            continue
        if is_given and key not in MAY_DIFFER and ours.get(key) != value:
            raise ConfigError(
                f"{key}={value}: {run.path} was begun with {key}={ours.get(key)}",
                hint="begin another run; or give --train as well, and the stages that do not change are kept",
            )
    if everything or any(name in MAY_DIFFER for name in named):
        return replace(stored, **{key: getattr(given, key) for key in MAY_DIFFER})
    return stored


def _names(key: str, options: Sequence[str]) -> bool:
    """Tell whether an option, or the section it stands in, is among those named."""
    return any(key == name or key.startswith(f"{name}.") for name in options)


def own_config(run: RunFolder, overrides: Sequence[str]) -> Config:
    """Return the options of a run that is gone on with, changed by what is given: on other files, or in part.

    Raises:
        ConfigError: an option given is wrong.
        ArtifactError: the run's configuration cannot be read.
    """
    return changed_config(load_run_config(run.config), overrides)
