"""How much memory and CPU time a program takes, looked at from outside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

SAMPLE_S = 0.2
"""Between two looks at the memory of a command."""
TICKS = os.sysconf("SC_CLK_TCK")


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


@dataclass(frozen=True)
class Usage:
    """What processes have used."""

    cpu_s: float
    memory: float
    """Bytes: the proportional set size, in which a page that several share counts once."""
    own_memory: float
    """Of it, what is no page of a file."""


def usage_of(group: int) -> Usage:
    """Return what the processes of a group use: CPU seconds, theirs and those of ended children; bytes of memory."""
    cpu = memory = own = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) != group:
                continue
            cpu += sum(map(int, fields[11:15])) / TICKS
            shares = dict(line.split()[:2] for line in (stat.parent / "smaps_rollup").read_text().splitlines()[1:])
        except (OSError, IndexError, ValueError):  # it ended meanwhile
            continue
        memory += 1024 * int(shares["Pss:"])
        own += 1024 * (int(shares["Pss:"]) - int(shares.get("Pss_File:", 0)))
    return Usage(cpu, memory, own)
