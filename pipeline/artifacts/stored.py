"""Files by path or URI on any file system that pyarrow opens: this machine, s3://, gs://, abfss://, hdfs://."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import basename, commonpath, dirname, join, relpath, splitext
from typing import Any, Literal, TextIO

from pipeline.artifacts.inputs import open_input
from pipeline.errors import ConfigError, DataError, PipelineError

_QUOTED = str.maketrans({"[": "%5B", "]": "%5D", " ": "%20"})
"""Characters that a URI may not hold, and a pattern or a name does."""

BUFFER_BYTES = 4 * 2**20
"""Read at a time: a store far away answers each request after some milliseconds."""


@dataclass(frozen=True)
class StoredFile:
    """One file; what reads articles takes it in place of a ``Path``. It can be sent to another machine."""

    filesystem: Any
    """``pyarrow.fs.FileSystem``."""
    path: str
    """Within the file system."""
    name: str
    """Path or URI as errors show it."""

    def __str__(self) -> str:
        return self.name

    @property
    def suffix(self) -> str:
        """The end of the name, such as ``.gz``."""
        return splitext(self.path)[1]

    def open(self, mode: Literal["rb"] = "rb") -> io.BufferedReader:
        """Open the file for reading; it is unpacked by nobody."""
        return io.BufferedReader(self.filesystem.open_input_file(self.path), BUFFER_BYTES)

    def exists(self) -> bool:
        """Tell whether the file is there.

        Raises:
            DataError: the file system does not say.
        """
        return bool(_info(self.filesystem, self.path, self.name).is_file)

    @contextmanager
    def writer(self) -> Iterator[TextIO]:
        """Lend a UTF-8 text file that gets its name when the block ends well; its folder is made if missing.

        The rename is atomic on this machine; an object store copies the whole object.

        Raises:
            ConfigError: it cannot be written. An OSError in the block counts as one of writing.
        """
        temporary = join(dirname(self.path), f".{basename(self.path)}.{secrets.token_hex(4)}.tmp")
        with _one_line(ConfigError, f"{self.name}: cannot be written"):
            self.filesystem.create_dir(dirname(self.path), recursive=True)
            try:
                raw = self.filesystem.open_output_stream(temporary, compression=None)
                with raw, io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="") as file:
                    yield file
                self.filesystem.move(temporary, self.path)
            except BaseException:
                with suppress(OSError):
                    self.filesystem.delete_file(temporary)
                raise


@dataclass(frozen=True)
class StoredFolder:
    """One folder, which need not exist."""

    filesystem: Any
    path: str
    name: str

    @classmethod
    def at(cls, name: str) -> StoredFolder:
        """Find the file system of a path or URI.

        Raises:
            ConfigError: a URI that no file system takes, or pyarrow is not installed.
        """
        try:
            from pyarrow import fs
        except ImportError as error:
            raise ConfigError(
                f"{name}: pyarrow is not installed", hint="pip install -r requirements-cluster.txt"
            ) from error
        if "://" not in name:
            return cls(fs.LocalFileSystem(), os.path.abspath(name), name.rstrip("/") or "/")
        try:
            filesystem, path = fs.FileSystem.from_uri(name.translate(_QUOTED))
        except (ValueError, OSError) as error:  # ArrowInvalid is a ValueError
            raise ConfigError(f"{name}: no file system opens this ({_reason(error)})") from error
        return cls(filesystem, path.rstrip("/"), name.partition("?")[0].rstrip("/"))

    def file(self, relative: str) -> StoredFile:
        """Return a file below this folder."""
        return StoredFile(self.filesystem, join(self.path, relative), f"{self.name}/{relative}")

    def holds(self, file: StoredFile) -> bool:
        """Tell whether a file lies below this folder."""
        return bool(file.filesystem == self.filesystem) and file.path.startswith(f"{self.path}/")

    def names(self) -> list[str]:
        """Return the relative names of all files below, sorted; hidden ones (``.`` and ``_``) are left out.

        Raises:
            DataError: the folder cannot be read.
        """
        return [name for name in self._all_names() if not any(part.startswith((".", "_")) for part in name.split("/"))]

    def remove_temporaries(self) -> None:
        """Remove what writers that were killed left behind."""
        for name in self._all_names():
            if fnmatchcase(basename(name), ".*.????????.tmp"):
                with suppress(OSError):
                    self.filesystem.delete_file(join(self.path, name))

    def _all_names(self) -> list[str]:
        from pyarrow import fs

        found = _info(self.filesystem, fs.FileSelector(self.path, allow_not_found=True, recursive=True), self.name)
        return sorted(relpath(info.path, self.path) for info in found if info.is_file)


def find_files(names: Sequence[str]) -> dict[str, StoredFile]:
    """Return the files that paths, URIs, folders and patterns (``*`` and ``[...]`` within one folder name) stand for.

    Returns:
        Each file by its name relative to the folder that holds all of them, sorted by it.

    Raises:
        ConfigError: a URI that no file system takes, or names on several file systems.
        DataError: there is no such file, a folder or pattern holds none, or it cannot be read.
    """
    groups = [_group(name) for name in names]
    roots = [root for root, _ in groups]
    if any(root.filesystem != roots[0].filesystem for root in roots):
        raise ConfigError(f"{names[0]} and {names[-1]}: files on several file systems cannot be read together")
    top = commonpath([root.path for root in roots]) if len(roots) > 1 else roots[0].path
    return dict(sorted((relpath(file.path, top), file) for _, group in groups for file in group))


def is_pattern(name: str) -> bool:
    """Tell whether a name stands for several files (``?`` begins the query of a URI, and is no sign of a pattern)."""
    return any(sign in name for sign in "*[")


def _group(name: str) -> tuple[StoredFolder, list[StoredFile]]:
    """Return a folder and the files in it that a name stands for."""
    place = StoredFolder.at(name)
    info = _info(place.filesystem, place.path, place.name)
    if info.is_file:
        parent = StoredFolder(place.filesystem, dirname(place.path), dirname(place.name) or ".")
        return parent, [StoredFile(place.filesystem, place.path, place.name)]
    folder, wanted = place, None
    if is_pattern(place.path):
        steps = place.path.split("/")
        n_fixed = next(index for index, step in enumerate(steps) if is_pattern(step))
        wanted = steps[n_fixed:]
        shown = "/".join(place.name.split("/")[: -len(wanted)])
        folder = StoredFolder(place.filesystem, "/".join(steps[:n_fixed]), shown or ".")
    files = [folder.file(found) for found in folder.names() if wanted is None or _matches(found, wanted)]
    if not files:
        is_folder = wanted is None and info.type.name == "Directory"
        raise DataError(f"{name}: the folder holds no file" if is_folder else f"{name}: no such file")
    return folder, files


def _matches(name: str, pattern: Sequence[str]) -> bool:
    steps = name.split("/")
    return len(steps) == len(pattern) and all(map(fnmatchcase, steps, pattern))


def _info(filesystem: Any, place: Any, name: str) -> Any:
    """Return what a file system says of a path, or of what a ``FileSelector`` stands for."""
    with _one_line(DataError, f"{name}: cannot be read"):
        return filesystem.get_file_info(place)


@contextmanager
def _one_line(kind: type[PipelineError], message: str) -> Iterator[None]:
    """Turn an OSError into an error of the program, with its reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{message} ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    """Return the first line of what pyarrow says; its OSErrors often have no ``strerror``."""
    text = getattr(error, "strerror", None) or str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


AnyFile = Path | StoredFile
"""What can be read: a local path, or a file anywhere."""


def open_any(file: AnyFile) -> io.BufferedReader:
    """Open a file for reading, wherever it lies; see ``open_input``."""
    return file.open("rb") if isinstance(file, StoredFile) else open_input(file)
