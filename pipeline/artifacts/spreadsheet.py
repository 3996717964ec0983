"""Cells of tables that people open in a spreadsheet: text is shown there, never computed."""

from __future__ import annotations

from typing import Any

from pipeline.artifacts.files import LONE_SURROGATE

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet computes a cell of text that begins with one of these."""


def safe_cell(value: Any) -> str:
    """Write a value; text gets an apostrophe in front where a spreadsheet would take it for a formula."""
    text = LONE_SURROGATE.sub("\ufffd", str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_SIGNS) else text
