"""Behaviour cases with right answers, run through one adapter per kind."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{path.stem}" for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem != "__init__")
)
