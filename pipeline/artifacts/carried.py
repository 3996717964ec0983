"""Files and folders as values, to be carried to a machine that does not share this one's disk."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pipeline.artifacts.files import atomic_write_bytes, write_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class CarriedFiles:
    """The content of a file, or of all files below a folder; of what is not there, nothing."""

    files: Mapping[str, NDArray[np.uint8]]
    """By their names relative to the folder, a single file by ``.``; arrays, since Ray hands those over uncopied."""

    @classmethod
    def of(cls, place: Path, *, without: Collection[Path] = ()) -> Self:
        """Read a file or folder.

        Args:
            place: file or folder; it need not exist.
            without: files and folders to leave out.
        """
        import numpy as np  # most commands do without

        found = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
        kept = [path for path in found if not any(path.is_relative_to(other) for other in without)]
        return cls({path.relative_to(place).as_posix(): np.fromfile(path, dtype=np.uint8) for path in kept})

    def changed_from(self, before: Self) -> Self:
        """Return the files that were not there before, or had another content."""
        known = before.files
        kept = (name for name, content in self.files.items() if name not in known or _differ(content, known[name]))
        return type(self)({name: self.files[name] for name in kept})

    def unpack(self, place: Path, *, last: str = "") -> None:
        """Write the files, each whole or not at all; those that are there already with this content are left alone.

        Args:
            place: the file or folder.
            last: name of the file that is written after all others.

        Raises:
            ConfigError: a file cannot be written.
        """
        for name in sorted(self.files, key=lambda name: (name == last, name)):
            path, content = place / name, self.files[name].tobytes()
            with write_errors(path):
                is_there = path.is_file() and path.read_bytes() == content
            if not is_there:
                atomic_write_bytes(path, content)


def _differ(content: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    return len(content) != len(other) or bool((content != other).any())
