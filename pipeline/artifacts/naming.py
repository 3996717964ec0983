"""Names of runs: which are allowed, and the one a run gets by default."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pipeline.artifacts.manifest import git_state
from pipeline.errors import ConfigError


def validate_run_name(name: str) -> str:
    """Return the name of a run if it is safe as a folder name on any machine.

    Raises:
        ConfigError: it is empty, too long, starts with a dot, holds ``..`` or other characters.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", name) or ".." in name:
        raise ConfigError(f"run name {name!r}: want letters, digits, '.', '_' and '-', not starting with '.'")
    return name


def new_run_name(preset: str) -> str:
    """Return ``<yyyymmdd-hhmmss>-<preset>-<short git hash>``, in UTC."""
    commit = git_state()["commit"]
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{preset}-{commit[:7] if commit else 'nogit'}"
