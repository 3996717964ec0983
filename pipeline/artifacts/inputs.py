"""Input files, which a command reads several times: counted, hashed, read. All of it must see the same bytes.

A pipe (``--train <(...)``, ``/dev/stdin``) gives its bytes once. Within ``inputs_kept`` it is copied to a temporary
file when it is first read, and every reading is one of the copy.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from pipeline.errors import ConfigError

_copies: dict[str, Path] | None = None
"""Copies by the absolute path of what they were made of; None outside ``inputs_kept``."""


@contextmanager
def inputs_kept() -> Iterator[None]:
    """Let ``open_input`` copy what can be read only once; the copies go with the block."""
    global _copies
    outer, _copies = _copies, {}
    try:
        yield
    finally:
        for copy in _copies.values():
            copy.unlink(missing_ok=True)
        _copies = outer


def open_input(path: Path) -> BufferedReader:
    """Open an input for reading: a file as it is, anything else as its copy.

    Raises:
        OSError: it cannot be read.
        ConfigError: the folder of temporary files has no room for a copy.
    """
    if _copies is None or not _is_read_once(path):
        return path.open("rb")
    name = os.path.abspath(path)
    if name not in _copies:
        with path.open("rb") as source:
            _copies[name] = _copy(source)
    return _copies[name].open("rb")


def sha256_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file, or of the copy of an input."""
    with open_input(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def temporary_errors() -> Iterator[None]:
    """Turn an OSError of writing a temporary file into a ConfigError that names the folder of temporary files."""
    try:
        yield
    except OSError as error:
        folder = tempfile.tempdir or os.environ.get("TMPDIR") or "the folder of temporary files"
        reason = error.strerror or error
        raise ConfigError(
            f"{folder}: no temporary file can be written ({reason})", hint="set TMPDIR to a folder with room"
        ) from error


def _is_read_once(path: Path) -> bool:
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _copy(source: BufferedReader) -> Path:
    with temporary_errors():
        handle, name = tempfile.mkstemp(prefix="input-")
    try:
        with temporary_errors(), open(handle, "wb") as target:
            shutil.copyfileobj(source, target, 2**20)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)
