"""Looks at other processes."""

from __future__ import annotations

from pathlib import Path


def is_running(pid: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
