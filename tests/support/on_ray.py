"""Tests that need Ray: their marks, and Ray's processes."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.paths import ROOT

_SPEC = importlib.util.find_spec("ray")
_MARKS = [
    pytest.mark.ray,
    pytest.mark.slow,  # Ray takes 10 to 20 seconds to start and stop
    pytest.mark.enable_socket,  # its processes talk over this machine's own network
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(_SPEC is None, reason="Ray is not installed (requirements-cluster.txt)"),
]
PROGRAM_PATH = {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path(_SPEC.origin).parents[1]}"} if _SPEC and _SPEC.origin else {}
"""Environment of a command that finds Ray where this process does."""

ELSEWHERE = (
    "import sys; from pipeline.runtime.trainings import Training; from pipeline.cli.main import main\n"
    "Training.run = None\n"
    "sys.exit(main(sys.argv[1:]))"
)
"""The program in a process that cannot train, as code: those of Ray have imported their own."""


def needs_ray(test: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test that starts Ray."""
    for mark in _MARKS:
        test = mark(test)
    return test


def ray_actors(name: str) -> list[psutil.Process]:
    """Return the processes below this one that hold actors of a class."""
    below = psutil.Process().children(recursive=True)
    return [process for process in below if name in " ".join(process.cmdline())]
