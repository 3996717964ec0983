"""Tells at the end how many inputs there were."""

from __future__ import annotations

import pytest

from .inputs import COUNTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        parts = ", ".join(f"{name} {number:,}" for name, number in COUNTS.items())
        terminalreporter.write_line(f"fuzz: {sum(COUNTS.values()):,} inputs ({parts})")
