"""Options of how texts are read before anything is matched in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TextConfig:
    """How articles and dictionary are read; what is written out is always as the article has it."""

    to_simplified: bool = False
    """Read traditional script as simplified (needs OpenCC: requirements-script.txt)."""
