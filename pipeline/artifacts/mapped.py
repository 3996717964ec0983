"""Arrays as plain files of their numbers, mapped into memory: one copy for all processes that read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.artifacts.files import write_errors
from pipeline.errors import ArtifactError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


def store_array(path: Path, array: np.ndarray) -> None:
    """Write the numbers of an array, and nothing else.

    Raises:
        ConfigError: the disk is full, or the file cannot be made.
    """
    with write_errors(path):
        array.tofile(path)


def map_array(path: Path, dtype: DTypeLike, *, writable: bool = False) -> np.ndarray:
    """Map a file of numbers into memory: one dimension, of as many as there are.

    Raises:
        ArtifactError: it cannot be read, or ends within a number.
    """
    import numpy as np  # most commands do without

    try:
        if not path.stat().st_size:  # an empty file cannot be mapped
            return np.zeros(0, dtype)
        found: np.ndarray[Any, Any] = np.memmap(path, dtype, "r+" if writable else "r")
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error})") from error
    return np.asarray(found)
