"""Files that are either whole or absent: written under a temporary name, then renamed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from pipeline.errors import ArtifactError, ConfigError, DataError

if TYPE_CHECKING:
    import pandas as pd

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a UTF-16 pair: JSON input can hold one, UTF-8 output cannot."""
MAX_JSON_BYTES = 2**30
"""Of a file of a run; the largest, the counts of 80,000 articles, take some megabytes."""


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError on the way to ``path`` (no permission, a folder, disk full) into a ConfigError."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror or error})") from error


def output_file(path: Path) -> Path:
    """Return where ``path`` leads, its folder made if missing; a rename would replace a link or device itself.

    Raises:
        ConfigError: it is a folder or a device, or its folder cannot be made.
    """
    with write_errors(path):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise ConfigError(f"{path}: is a folder or device, want a file")
        target.parent.mkdir(parents=True, exist_ok=True)
    return target


def temporary_path(path: Path) -> Path:
    """Return a hidden, unused name in the folder of ``path``, so that a rename is atomic."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def publish(temporary: Path, path: Path) -> None:
    """Rename a finished file to its final name, surviving a power cut on either side of the rename."""
    _sync(temporary)
    os.replace(temporary, path)
    _sync(path.parent)


@contextmanager
def text_file(path: Path, *, packed: bool = False) -> Iterator[TextIO]:
    """Lend a new file for UTF-8 text; a lone surrogate is written as its escape.

    Raises:
        OSError: it exists, or cannot be written.
    """
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("xb"))
        if packed:  # without name and time in its header: equal content, equal bytes
            file = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)))
        yield stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline=""))


@contextmanager
def atomic_writer(path: Path) -> Iterator[TextIO]:
    """Lend a file for UTF-8 text that comes bit by bit; it is published when the block ends well. ``.gz`` is packed.

    A lone surrogate is written as its escape. An OSError in the block counts as one of writing.

    Raises:
        ConfigError: the path cannot be written.
    """
    target = output_file(path)
    temporary = temporary_path(target)
    with write_errors(path):
        try:
            with text_file(temporary, packed=target.suffix == ".gz") as file:
                yield file
            publish(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Lend a folder that gets its name when the block ends well, and is removed otherwise.

    Raises:
        ConfigError: the name is taken, or the folder cannot be made.
    """
    target = Path(os.path.realpath(path))
    temporary = temporary_path(target)
    with write_errors(path):
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise ConfigError(f"{path}: exists already", hint="choose another name, or remove it")
        temporary.mkdir(parents=True)
    try:
        yield temporary
        with write_errors(path):
            os.replace(temporary, target)
            _sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def atomic_write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; missing folders are made.

    Raises:
        ConfigError: the path cannot be written.
    """
    target = output_file(path)
    temporary = temporary_path(target)
    with write_errors(path):
        try:
            with temporary.open("xb") as file:  # never what stands there already, or what a link leads to
                file.write(content)
            publish(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def atomic_write_text(path: Path, content: str) -> None:
    """Write UTF-8 text with its line ends untouched, packed where the name ends in .gz; see ``atomic_write_bytes``."""
    atomic_write_bytes(path, _as_named(path, content.encode("utf-8")))


def atomic_write_json(path: Path, value: Any) -> None:
    """Write a value as readable JSON, packed where the name ends in .gz; see ``atomic_write_bytes``. NaN is refused."""
    content = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    # A lone surrogate becomes its JSON escape, which reads back as the same string.
    atomic_write_bytes(path, _as_named(path, content.encode("utf-8", errors="backslashreplace")))


def _as_named(path: Path, content: bytes) -> bytes:
    return gzip.compress(content, mtime=0) if path.suffix == ".gz" else content


def read_json(path: Path) -> Any:
    """Read a JSON file of a run.

    Raises:
        ArtifactError: the file is missing, unreadable, too large or not JSON.
    """
    try:
        if (size := path.stat().st_size) > MAX_JSON_BYTES:
            raise ArtifactError(f"{path}: {size:,} bytes, more than the {MAX_JSON_BYTES:,} that are read")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError
        raise ArtifactError(f"{path}: not valid JSON ({error})") from error
    except RecursionError as error:
        raise ArtifactError(f"{path}: not valid JSON (nested too deeply)") from error


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a CSV (UTF-8, LF) that ``read_table`` gives back; see ``atomic_write_bytes``.

    Strings are always quoted, so that a carriage return or an empty string inside one survives.
    """
    content = table.to_csv(None, index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    atomic_write_text(path, LONE_SURROGATE.sub("\ufffd", content))


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV with every column as strings: ``NA``, ``null``, ``007``, ``1e5`` and ``TRUE`` stay as written.

    Raises:
        DataError: the file is missing or not a CSV table in UTF-8.
    """
    import pandas as pd  # costs half a second that most commands need not pay

    try:
        return pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # ParserError, EmptyDataError and UnicodeDecodeError
        raise DataError(f"{path}: not a CSV table ({' '.join(str(error).split())})") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
