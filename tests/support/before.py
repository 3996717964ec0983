"""Models as versions before have left them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pipeline.data.seen import SEEN


def without_seen(model: Path, to: Path, *, settings: str) -> Path:
    """Copy a model without the hashes of its training texts, and without the entry of that file in its settings."""
    shutil.copytree(model, to)
    values = json.loads((to / settings).read_bytes())
    del values["files"][SEEN]
    (to / settings).write_text(json.dumps(values))
    (to / SEEN).unlink()
    return to
