"""The command line: one function per command, exit codes, one-line errors.

Modules that take long to import (torch, lightgbm, pandas) are imported inside the commands.
"""

from pipeline.cli.main import main

__all__ = ["main"]
