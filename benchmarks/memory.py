"""How much memory a program takes, looked at from outside."""

from __future__ import annotations

import psutil

SAMPLE_S = 0.2
"""Between two looks at the memory of a command."""


def memory_of(pid: int) -> int:
    """Return the resident bytes of a process and of those it started; pages that they share count for each."""
    total = 0
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.NoSuchProcess:
        pass  # it has just ended
    return total
