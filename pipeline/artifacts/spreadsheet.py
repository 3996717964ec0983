"""Cells of tables that people open in a spreadsheet: text is shown there, never computed."""

from __future__ import annotations

import re
from typing import Any

from pipeline.artifacts.files import LONE_SURROGATE

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""A spreadsheet computes a cell of text that begins with one of these signs; the apostrophes are ours."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def safe_cell(value: Any) -> str:
    """Write a value; text gets an apostrophe in front where a spreadsheet would take it for a formula."""
    text = LONE_SURROGATE.sub("\ufffd", str(value))
    return f"'{text}" if isinstance(value, str) and _is_formula(text) else text


def plain_cell(text: str) -> str:
    """Return the text that ``safe_cell`` wrote."""
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and not _NUMBER.fullmatch(text)
