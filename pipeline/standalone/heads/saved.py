"""A trained head in a folder of its own: all that it needs to answer, as JSON and safetensors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.artifacts import SCHEMA_VERSION, atomic_write_json, new_folder, read_json, sha256_file, temporary_path
from pipeline.artifacts.manifest import environment
from pipeline.config import config_from_dict
from pipeline.data.formats.sentiment import RowKind
from pipeline.data.seen import SeenTexts
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.errors import ArtifactError, ConfigError
from pipeline.standalone.heads.training import DevFigures

SETTINGS, LOG = "settings.json", "log.jsonl"
"""Names in a head's folder, beside the files of ``HeadClassifier.save``."""
TRAIN_HINT = "python run.py heads train --data FILE --head NAME --out FOLDER"


@dataclass(frozen=True, slots=True)
class SavedHead:
    """A fitted head, and what it was trained on."""

    model: HeadClassifier
    kind: RowKind
    """Form of the training rows."""
    most_frequent: str
    """Class that most training rows have: the answer of the baseline."""
    dev: DevFigures
    """How well it did on the rows that chose its epoch."""
    seen: SeenTexts = field(default_factory=SeenTexts)
    """The texts it was trained on."""

    @property
    def max_context_chars(self) -> int:
        """Characters that are read of an article for one of its entities."""
        return self.model.config.sentiment.max_context_chars


def save_head(saved: SavedHead, folder: Path, *, data: Sequence[Mapping[str, Any]], **notes: Any) -> None:
    """Write a head into an existing folder, its settings last.

    Args:
        saved: the fitted head.
        folder: where to; ``unfinished_folder`` lends one.
        data: the files it was trained on, described.
        notes: further facts of the training, as JSON values.
    """
    model = saved.model
    model.save(folder)
    saved.seen.save(folder)
    options = model.config.to_dict()
    options["head"]["states_cache"] = ""  # a folder of this machine, which only spares time
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != LOG]
    settings = {
        "schema_version": SCHEMA_VERSION,
        "head": model.name,
        "classes": list(model.classes),
        "rows": saved.kind.value,
        "most_frequent": saved.most_frequent,
        "seed": model.seed,
        "dev": saved.dev.to_dict(),
        "options": options,
        "data": [dict(file) for file in data],
        "files": {path.relative_to(folder).as_posix(): sha256_file(path) for path in files},
        **notes,
        **environment(),
    }
    atomic_write_json(folder / SETTINGS, settings)


def load_head(folder: Path) -> SavedHead:
    """Read what ``save_head`` wrote; every file is compared with its checksum.

    Raises:
        ArtifactError: the folder is none of these or of another version, or a file in it is missing or changed.
    """
    settings = read_settings(folder)
    for name, checksum in settings["files"].items():
        file = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ArtifactError(f"{folder / SETTINGS}: names {name!r}, which lies outside the folder")
        if not file.is_file():
            raise ArtifactError(f"{file}: missing from the trained head", hint=TRAIN_HINT)
        if sha256_file(file) != checksum:
            raise ArtifactError(f"{file}: changed since the head was saved (its SHA-256 differs)", hint=TRAIN_HINT)
    try:
        config = config_from_dict(settings["options"])
        model = HeadClassifier(settings["head"], config, classes=settings["classes"], seed=settings["seed"])
        kind, dev = RowKind(settings["rows"]), DevFigures.from_dict(settings["dev"])
    except (ConfigError, TypeError, ValueError) as error:
        raise ArtifactError(f"{folder / SETTINGS}: does not fit this version of the program ({error})") from error
    return SavedHead(model.load(folder), kind, settings["most_frequent"], dev, SeenTexts.load(folder))


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a saved head.

    Raises:
        ArtifactError: there are none, of another version, or damaged.
    """
    path = folder / SETTINGS
    if not path.is_file():
        raise ArtifactError(f"{folder}: no folder of a trained head (no {SETTINGS})", hint=TRAIN_HINT)
    settings = read_json(path)
    if not isinstance(settings, dict) or settings.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(f"{path}: not of this version of the program", hint="train the head again")
    wanted = {
        **dict.fromkeys(("head", "rows", "most_frequent"), str),
        **dict.fromkeys(("options", "files", "dev"), dict),
        **{"classes": list, "seed": int},
    }
    if wrong := [key for key, kind in wanted.items() if not isinstance(settings.get(key), kind)]:
        raise ArtifactError(f"{path}: damaged, {' and '.join(wrong)} cannot be read")
    return settings


@contextmanager
def unfinished_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """Lend a folder that becomes ``folder`` when the block ends well, and is removed otherwise.

    Args:
        folder: where the head is to be.
        force: replace a trained head that is there; it stays until the new one is complete.

    Raises:
        ConfigError: something is there already, and it is not forced or no trained head; or it cannot be written.
    """
    is_taken = folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
    if not is_taken:
        with new_folder(folder) as unfinished:
            yield unfinished
        return
    is_head = (folder / SETTINGS).is_file()
    if not (force and is_head):
        hint = "choose another name, or --force to replace the trained head there"
        raise ConfigError(f"{folder}: exists already", hint=hint if is_head else "choose another name, or remove it")
    target = Path(os.path.realpath(folder))
    complete = temporary_path(target)
    try:
        with new_folder(complete) as unfinished:
            yield unfinished
        replace_folder(complete, target)
    finally:
        shutil.rmtree(complete, ignore_errors=True)


def replace_folder(new: Path, target: Path) -> None:
    """Rename a folder; one that has its name already makes room, and comes back if that fails."""
    old = temporary_path(target)
    if target.exists():
        os.replace(target, old)
    try:
        os.replace(new, target)
    except BaseException:
        if old.exists():
            os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)
