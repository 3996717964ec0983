"""What a shell makes of ``<(command)``: a path whose bytes can be read once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def piped(content: bytes) -> Iterator[Path]:
    """Lend the path of a pipe that holds these bytes, at most 1 MiB."""
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 2**20)
        os.write(writer, content)
        os.close(writer)
        yield Path(f"/dev/fd/{reader}")
    finally:
        os.close(reader)
