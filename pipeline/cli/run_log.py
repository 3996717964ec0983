"""A copy of every message of a training, in its run folder."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pipeline.cli.say import EscapingFormatter


@contextmanager
def log_file(path: Path) -> Iterator[None]:
    """Keep a copy of every message in the run folder."""
    handler = LogFile(path, encoding="utf-8", delay=True)
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger("pipeline").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("pipeline").removeHandler(handler)
        with suppress(OSError):  # what a full disk refused
            handler.close()


class LogFile(logging.FileHandler):
    """A log that a full disk does not turn into a traceback for each message; what matters is on the terminal."""

    def _open(self) -> Any:
        from pipeline.artifacts import open_own

        return open_own(Path(self.baseFilename), "a")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message where there is a run folder: none is made for one that cannot begin."""
        if self.stream is None and not Path(self.baseFilename).parent.is_dir():
            return
        try:
            super().emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Do without the message."""
