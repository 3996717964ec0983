"""Rows of one's own are read in the script in which they are written."""

from __future__ import annotations

from pipeline.config import Config
from pipeline.errors import ConfigError


def refuse_conversion(config: Config) -> None:
    """Refuse an option that would change nothing here.

    Raises:
        ConfigError: the options ask for another script.
    """
    if config.text.to_simplified:
        raise ConfigError(
            "text.to_simplified: these rows are read in their own script", hint="train and predict convert articles"
        )
