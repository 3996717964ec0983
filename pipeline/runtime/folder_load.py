"""What workers load once, from a folder that an engine may carry to machines that lack it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

from pipeline.artifacts import CarriedFiles

Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class FolderLoad(Generic[Loaded]):
    """A ``load`` for ``parallel.map_chunks`` that reads one folder, and nothing of it afterwards."""

    read: Callable[[Path], Loaded]
    """A picklable function of the folder."""
    folder: Path
    without: tuple[Path, ...] = ()
    """Files and folders in it that are not read."""

    def __call__(self) -> Loaded:
        """Load from the folder itself."""
        return self.read(self.folder)

    def pack(self) -> CarriedFiles:
        """Return what is read."""
        return CarriedFiles.of(self.folder, without=self.without)

    def load_packed(self, files: CarriedFiles) -> Loaded:
        """Load from files that were carried here."""
        with TemporaryDirectory(prefix="carried-") as name:
            place = Path(name) / self.folder.name
            files.unpack(place)
            return self.read(place)
