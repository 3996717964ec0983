"""What every option is checked by."""

from __future__ import annotations

from pipeline.errors import ConfigError


def require(condition: bool, message: str) -> None:
    """Raise a ConfigError with the message unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def between(name: str, value: float, low: float, high: float) -> None:
    """Raise a ConfigError that names the option unless its value lies in the closed range."""
    require(low <= value <= high, f"{name} must lie between {low} and {high}, got {value}")
