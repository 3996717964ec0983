"""docs/DEPENDENCIES.md: each package that a requirements file asks for is there, under its file, within its bounds."""

from __future__ import annotations

from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.dependencies import FILES, closure, licence, read_requirements
from tests.support.paths import ROOT


def rows() -> dict[str, list[list[str]]]:
    """Return the cells of each row, by the file above the table."""
    found: dict[str, list[list[str]]] = {}
    for line in (ROOT / "docs/DEPENDENCIES.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            table = found.setdefault(line.removeprefix("## "), [])
        elif line.startswith("| ") and not line.startswith(("| package", "| ---")):
            table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


def asked_for() -> dict[str, dict[str, Requirement]]:
    """Return the requirements of each file by name."""
    return {name: {canonicalize_name(each.name): each for each in read_requirements(ROOT / name)} for name in FILES}


def test_every_file_has_its_table() -> None:
    assert tuple(rows()) == FILES
    assert {path.name for path in ROOT.glob("requirements*.txt")} == set(FILES)


def test_the_tables_hold_what_the_files_ask_for() -> None:
    shown = {name: {row[0] for row in table if row[3] == "this project"} for name, table in rows().items()}
    assert shown == {name: set(wanted) for name, wanted in asked_for().items()}
    assert {"torch", "ray", "pyarrow", "optuna", "types-pyyaml"} <= set().union(*shown.values())


def test_no_package_is_shown_twice() -> None:
    names = [row[0] for table in rows().values() for row in table]
    assert len(names) == len(set(names)) > 80


def test_versions_are_within_the_bounds_and_licences_are_stated() -> None:
    wanted = {name: need for needs in asked_for().values() for name, need in needs.items()}
    for name, version, stated, asked in (row for table in rows().values() for row in table):
        assert stated, name
        if asked == "this project":
            assert wanted[name].specifier.contains(version), f"{name} {version} is not {wanted[name]}"


def test_a_closure_holds_what_packages_need() -> None:
    found = closure([Requirement("pandas")])
    assert {"pandas", "numpy", "python-dateutil"} <= found
    assert "pytest" not in found  # of an extra
    assert {"pandas", "pytest"} <= closure([Requirement("pandas[test]"), Requirement("pandas")])
    assert closure([Requirement("not-installed-anywhere")]) == set()
    assert licence(metadata.distribution("pytest")) == "MIT"
