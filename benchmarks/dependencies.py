"""Prints docs/DEPENDENCIES.md's tables: every installed package that a requirements file leads to, with its licence.

    python -m benchmarks.dependencies

Versions and licences are those that the installed packages state; "not stated" is a package that states none.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

LICENCE = "License :: "
FILES = (
    *("requirements.txt", "requirements-cluster.txt", "requirements-engine.txt"),
    *("requirements-script.txt", "requirements-tune.txt"),
    "requirements-dev.txt",
)
"""In this order: what an earlier file leads to is not repeated under a later one."""


def main() -> None:
    """Print a table for each file; what an earlier file led to is not repeated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[Path(name) for name in FILES])
    known: set[str] = set()
    for path in parser.parse_args().files:
        requirements = list(read_requirements(path))
        direct = {canonicalize_name(requirement.name) for requirement in requirements}
        found = closure(requirements) - known
        known |= found
        print(f"## {path.name}\n\n| package | version | licence | asked for by |\n| --- | --- | --- | --- |")
        for name in sorted(found):
            installed = metadata.distribution(name)
            asked = "this project" if name in direct else "a dependency"
            print(f"| {name} | {installed.version.partition('+')[0]} | {licence(installed)} | {asked} |")
        print()


def read_requirements(path: Path) -> Iterator[Requirement]:
    """Yield the requirements of a file; lines that name another file are left to the caller."""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text and not text.startswith("-"):
            yield Requirement(text)


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """Return packages with everything installed that they need, and that the extras asked for need."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = list(requirements)
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        for extra in {"", *need.extras} - {known for package, known in seen if package == name}:
            seen.add((name, extra))
            try:
                texts = metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # for another platform or Python
                continue
            found.add(name)
            waiting += [each for text in texts if (each := _parsed(text, extra))]
    return found


def _parsed(text: str, extra: str) -> Requirement | None:
    try:
        need = Requirement(text)
    except InvalidRequirement:
        return None
    return need if need.marker is None or need.marker.evaluate({"extra": extra}) else None


def licence(package: metadata.Distribution) -> str:
    """Return a package's licence in a few words, from its expression, classifiers or free text."""
    facts = package.metadata
    if expressions := facts.get_all("License-Expression"):
        return str(expressions[0])
    named = [value.rpartition(" :: ")[2] for value in facts.get_all("Classifier") or [] if value.startswith(LICENCE)]
    if named:
        return ", ".join(sorted(set(named)))
    first_line = re.split(r"[\r\n]", (facts.get_all("License") or [""])[0])[0].strip()
    return first_line[:60] or "not stated"


if __name__ == "__main__":
    main()
