"""What the program says, on either stream: whatever a name or an id holds, no character commands the terminal."""

from __future__ import annotations

import logging
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pipeline.data.read import ReadReport

logger = logging.getLogger("pipeline.cli")

_ACTIVE = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})
"""Categories of characters that show nothing, or that a terminal obeys: escapes, marks that turn the line around."""
STDOUT = Path("-")
"""As the name of a file: standard output."""


def escaped(text: str) -> str:
    """Return a text in which such characters are written as ``repr`` writes them; line feeds and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _is_active(char) else char for char in text)


def say(text: str) -> None:
    """Print a text on standard output."""
    typer.echo(escaped(text))


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON into a file, or to standard output for ``-``."""
    from pipeline.artifacts import atomic_write_json

    if path == STDOUT:
        import json

        typer.echo(json.dumps(value, indent=2, allow_nan=False))  # ASCII: everything else as an escape
    else:
        atomic_write_json(path, value)


class EscapingFormatter(logging.Formatter):
    """Formatter of every message of the program."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message on one line, and below it the traceback where there is one."""
        return escaped(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the message on one line."""
        return super().formatMessage(record).replace("\n", "\\n")


def _is_active(char: str) -> bool:
    return char not in "\n\t" and unicodedata.category(char) in _ACTIVE


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def warn_of_rows(path: Path, report: ReadReport, consequence: str = "") -> None:
    """Tell what reading a file found; ``consequence`` says what follows from newsIds that occur again."""
    repeated = report.repeats.warning(consequence) if report.repeats else None
    for warning in (*report.warnings(), *([repeated] if repeated else [])):
        logger.warning("%s: %s", path, warning)
