"""Rows that wait on disk for their second reading."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from pipeline.artifacts import temporary_errors


class Spool:
    """JSON values in an unnamed file, which is gone when nobody holds the spool; append first, then read.

    Raises:
        ConfigError: the folder of temporary files has no room; also in ``append`` and while reading, which writes
            what is left.
    """

    def __init__(self) -> None:
        with temporary_errors():
            # No context manager: the file lives as long as the object, and is closed with it.
            self._file = tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n")  # noqa: SIM115
        weakref.finalize(self, _close, self._file)

    def append(self, value: Any) -> None:
        """Write one value."""
        with temporary_errors():
            self._file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def __iter__(self) -> Iterator[Any]:
        """Yield the values in order; several readers do not disturb each other."""
        position = 0
        while True:
            with temporary_errors():
                self._file.seek(position)
            line = self._file.readline()
            if not line:
                return
            position = self._file.tell()
            yield json.loads(line)


def _close(file: IO[str]) -> None:
    with suppress(OSError):  # what a full disk refused was told before
        file.close()
