"""Plant one fault after another in a copy of the program, and see whether the tests that should notice do.

    python -m benchmarks.planted_faults [--only metric rerank] [--json faults.json]

A fault (``planted_faults.toml``) is a piece of one module that stands there exactly once, what is put in its place,
and the test files that should fail. First all of these run without a fault: they must pass. Exit code 1 if a fault is
not noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "pipeline",
    "tests",
    "benchmarks",
    "docs",
    "data/sample",
    "run.py",
    "pyproject.toml",
    *(path.name for path in ROOT.glob("requirements*.txt")),
)
TIMEOUT_S = 300
"""Of the tests of one fault; a fault that makes them hang is noticed, too."""
LONG_TIMEOUT_S = 1800
"""Of all of these tests together."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault."""

    module: str
    """Path below ``pipeline/``."""
    about: str
    """What is wrong with the program then."""
    old: str
    new: str
    tests: list[str]
    """Files that should fail."""

    @property
    def part(self) -> str:
        """The part of the program, as the table calls it."""
        return self.module.partition("/")[0]


def read_faults() -> list[Fault]:
    """Read the list."""
    rows = tomllib.loads((ROOT / "benchmarks" / "planted_faults.toml").read_text(encoding="utf-8"))
    return [Fault(**row) for row in rows["fault"]]


def copy_program(folder: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


def plant(fault: Fault, folder: Path) -> str:
    """Put a fault into the copy; return the module as it was.

    Raises:
        ValueError: what is to be replaced does not stand there exactly once.
    """
    path = folder / "pipeline" / fault.module
    content = path.read_text(encoding="utf-8")
    if content.count(fault.old) != 1:
        raise ValueError(f"{fault.module}: {fault.old!r} stands there {content.count(fault.old)} times, want once")
    path.write_text(content.replace(fault.old, fault.new), encoding="utf-8")
    return content


def first_failure(tests: Sequence[str], folder: Path, *, timeout_s: float = TIMEOUT_S) -> str | None:
    """Run test files of the copy up to their first failure; return what failed, None if nothing did."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return "time is up"
    if done.returncode == 0:
        return None
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failures[0].partition(" - ")[0] if failures else done.stdout[-300:] + done.stderr[-300:]


def table(results: Sequence[tuple[Fault, str | None]]) -> str:
    """Count planted and noticed faults by part of the program, as Markdown."""
    planted = Counter(fault.part for fault, _ in results)
    noticed = Counter(fault.part for fault, failed in results if failed)
    rows = [f"| {part} | {count} | {noticed[part]} |" for part, count in planted.items()]
    total = f"| **all** | **{len(results)}** | **{noticed.total()}** |"
    return "\n".join(["| part | planted | noticed |", "| --- | --- | --- |", *rows, total])


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant, run, restore; print what was noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of module names, such as metric or workflow/")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("--json", type=Path, help="file that gets what failed for each fault")
    options = parser.parse_args(arguments)
    faults = [fault for fault in read_faults() if any(part in fault.module for part in options.only)]
    results: list[tuple[Fault, str | None]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_program(folder)
        for fault in faults:  # found before hours of tests
            (folder / "pipeline" / fault.module).write_text(plant(fault, folder), encoding="utf-8")
        tests = sorted({test for fault in faults for test in fault.tests})
        if not options.trust and (failed := first_failure(tests, folder, timeout_s=LONG_TIMEOUT_S)):
            print(f"without any fault: {failed}")
            return 1
        for fault in faults:
            start = time.perf_counter()
            before = plant(fault, folder)
            failed = first_failure(fault.tests, folder)
            (folder / "pipeline" / fault.module).write_text(before, encoding="utf-8")
            results.append((fault, failed))
            said = failed or "NOT NOTICED"
            print(f"{time.perf_counter() - start:5.0f} s  {fault.module}: {fault.about}: {said}", flush=True)
    print(f"\n{table(results)}")
    if options.json:
        rows = [{"module": fault.module, "about": fault.about, "failed": failed} for fault, failed in results]
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return int(any(failed is None for _, failed in results))


if __name__ == "__main__":
    sys.exit(main())
