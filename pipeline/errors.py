"""Errors a user can cause or mend, each with the exit code the command line returns for it."""

from __future__ import annotations

import re

_BREAK = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


class PipelineError(Exception):
    """Base of every error shown to the user as one line on standard error.

    Args:
        message: what is wrong, naming the file, line, option or value. Line breaks, as a value may have them, are
            blanks in it.
        hint: what to do about it, printed on a line of its own.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = _BREAK.sub(" ", message)
        self.hint = None if hint is None else _BREAK.sub(" ", hint)
        super().__init__(self.message)


class ConfigError(PipelineError):
    """A wrong option, preset, key or value (exit code 2)."""

    exit_code = 2


class DataError(PipelineError):
    """Input that cannot be used: a missing, empty or malformed file (exit code 3)."""

    exit_code = 3


class ArtifactError(PipelineError):
    """A run folder, model or encoder that is missing or does not match (exit code 4)."""

    exit_code = 4
