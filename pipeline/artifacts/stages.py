"""What identifies a stage of a run, and how long it took."""

from __future__ import annotations

import hashlib
import json
import time
from types import TracebackType
from typing import Any


def stage_key(*parts: Any) -> str:
    """Hash all that a stage depends on (options, data checksums, keys of earlier stages): JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class StageTimer:
    """``with StageTimer() as timer: ...`` leaves the wall-clock time in ``timer.seconds``."""

    seconds = 0.0

    def __enter__(self) -> StageTimer:
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._start
