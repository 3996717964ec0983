"""What the program is called: as the user started it, so that hints and examples can be typed."""

from __future__ import annotations

import sys
from pathlib import Path

COMMAND = "core-entities"
"""The command that pip installs."""
SCRIPT = "python run.py"
"""The same in a checkout; texts are written with it."""


def program_name() -> str:
    """Return the command, or the script where it was not the command that was started."""
    return COMMAND if Path(sys.argv[0]).name == COMMAND else SCRIPT


def as_started(text: str) -> str:
    """Return a text with the program called as it was started."""
    return text.replace(SCRIPT, program_name())
