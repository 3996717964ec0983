"""The order of the emotions, kept with every model: a column of probabilities has no name of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.errors import ArtifactError
from pipeline.schema import EMOTIONS

ORDER = [emotion.value for emotion in EMOTIONS]


def check_order(path: Path, found: Any) -> None:
    """Compare the order that a model was saved with; models of before 0.2.0 name none (None).

    Raises:
        ArtifactError: it is another.
    """
    if found is not None and found != ORDER:
        listing = ", ".join(map(str, found)) if isinstance(found, list) else repr(found)
        raise ArtifactError(f"{path}: emotions {listing}, want {', '.join(ORDER)}", hint="train the run again")
