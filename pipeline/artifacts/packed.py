"""Reading gzip within bounds: a file of megabytes may not unpack to terabytes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO

from pipeline.artifacts.stored import AnyFile
from pipeline.errors import ArtifactError, DataError

GZIP_MAGIC = b"\x1f\x8b"
"""How every packed file begins, whatever its name."""
MAX_RATIO = 200
"""Unpacked bytes for each packed one. Text is packed 2 to 30 times; a bomb of zeros 1,000 times."""
FREE_BYTES = 2**28
"""What any file may unpack to, whatever its ratio."""


class BoundedGzip(gzip.GzipFile):
    """A gzip file open for reading that refuses to unpack to far more than text can.

    Args:
        path: named in the error.
        raw: the packed file, open for reading.
    """

    def __init__(self, path: AnyFile, raw: BinaryIO) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._path, self._raw, self._n_bytes = path, raw, 0

    def read(self, size: int | None = -1) -> bytes:
        """Read as any file does.

        Raises:
            DataError: the file unpacks to too much.
        """
        if size is not None and size >= 0:
            return self._counted(super().read(size))
        return b"".join(iter(lambda: self.read(2**20), b""))

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line as any file does; see ``read``."""
        return self._counted(super().readline(-1 if size is None else size))

    def _counted(self, block: bytes) -> bytes:
        self._n_bytes += len(block)
        if self._n_bytes > FREE_BYTES and self._n_bytes > MAX_RATIO * self._raw.tell():
            raise DataError(
                f"{self._path}: unpacks to more than {MAX_RATIO} times its size: no text does, so it is not read on"
            )
        return block


def unpack_file(path: Path) -> bytes:
    """Return what a packed file of a run holds.

    Raises:
        ArtifactError: it is missing or damaged, or unpacks to too much.
    """
    try:
        with path.open("rb") as raw, BoundedGzip(path, raw) as file:
            return file.read()
    except DataError as error:
        raise ArtifactError(error.message) from error
    except (OSError, EOFError, zlib.error) as error:
        raise ArtifactError(f"{path}: cannot be read: {error}") from error
