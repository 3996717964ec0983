"""What a training says while it runs, as JSON lines. torch is not imported: who only predicts does without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.artifacts import open_own, write_errors
from pipeline.runtime.processes import is_main


@dataclass(frozen=True, slots=True)
class EpochReport:
    """Where training stands after an epoch."""

    epoch: int
    step: int
    loss: float
    """Mean over the batches of the epoch."""
    learning_rate: float
    """At the end of the epoch."""
    figure: float
    """The development figure; higher is better."""
    is_best: bool
    seconds: float
    """Since training began."""


class JsonLinesLog:
    """Appends one JSON object per line, each in a single write: processes may share the file.

    Args:
        path: made with its folder if missing.
        context: values written with every line (the model's name, the fold).
    """

    def __init__(self, path: Path, **context: Any) -> None:
        self.path = path
        self.context = context

    def __call__(self, report: EpochReport | Mapping[str, Any]) -> None:
        """Append a report; of several processes that train together the first does.

        Raises:
            ConfigError: the disk refuses.
        """
        if not is_main():
            return
        values = asdict(report) if isinstance(report, EpochReport) else report
        append_lines(self.path, json.dumps({**self.context, **values}, ensure_ascii=False) + "\n")


def log_to(path: Path | None, **context: Any) -> JsonLinesLog | None:
    """Return a log that writes ``context`` with every line, or None where no log is wanted."""
    return JsonLinesLog(path, **context) if path is not None else None


def append_lines(path: Path, lines: str) -> None:
    """Append whole lines in a single write; the file is made with its folder if missing.

    Raises:
        ConfigError: the disk refuses.
    """
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_own(path, "a") as file:
            file.write(lines)
