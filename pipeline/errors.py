"""Errors a user can cause or mend, each with the exit code the command line returns for it."""

from __future__ import annotations


class PipelineError(Exception):
    """Base of every error shown to the user as one line on standard error.

    Args:
        message: what is wrong, naming the file, line, option or value.
        hint: what to do about it, printed on a line of its own.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(PipelineError):
    """A wrong option, preset, key or value (exit code 2)."""

    exit_code = 2


class DataError(PipelineError):
    """Input that cannot be used: a missing, empty or malformed file (exit code 3)."""

    exit_code = 3


class ArtifactError(PipelineError):
    """A run folder, model or encoder that is missing or does not match (exit code 4)."""

    exit_code = 4
