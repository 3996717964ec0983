"""Rows that wait on disk for their second reading."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any


class Spool:
    """JSON values in an unnamed file, which is gone when nobody holds the spool; append first, then read."""

    def __init__(self) -> None:
        # No context manager: the file lives as long as the object, and is closed with it.
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n")  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def append(self, value: Any) -> None:
        """Write one value."""
        self._file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def __iter__(self) -> Iterator[Any]:
        """Yield the values in order; several readers do not disturb each other."""
        position = 0
        while True:
            self._file.seek(position)
            line = self._file.readline()
            if not line:
                return
            position = self._file.tell()
            yield json.loads(line)
