"""What pip installs: dependencies, files beside the code, the command; and the files that describe the project."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from setuptools import find_packages

from benchmarks.dependencies import read_requirements
from pipeline import __version__
from pipeline.cli.program import COMMAND
from pipeline.config import PRESET_DIR
from tests.support.command_line import TIMEOUT_S
from tests.support.paths import ASSETS, ROOT, SAMPLE

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {
    "cluster": "requirements-cluster.txt",
    "engine": "requirements-engine.txt",
    "script": "requirements-script.txt",
    "tune": "requirements-tune.txt",
}
HOOKS = ["lint", "types", "layers"]
PINNED = "torch"
"""Exact in requirements.txt alone: a package that pins it cannot be installed beside others that need it."""


def bounds(requirements: list[Requirement]) -> dict[str, str]:
    """Return name and extras of each requirement with its bounds in one order."""
    found = {f"{one.name}[{','.join(sorted(one.extras))}]": str(one.specifier) for one in requirements}
    assert len(found) == len(requirements)
    return found


# --- dependencies


def test_dependencies_are_those_of_the_requirements_file() -> None:
    listed = bounds([Requirement(line) for line in PROJECT["project"]["dependencies"]])
    wanted = bounds(list(read_requirements(ROOT / "requirements.txt")))
    assert wanted.pop("pytest[]")  # named there for those who test
    pin, span = (Requirement(f"{PINNED}{of[f'{PINNED}[]']}").specifier for of in (wanted, listed))
    [exact] = pin
    assert exact.operator == "=="
    assert span.contains(exact.version)
    assert {one.operator for one in span} == {">=", "<"}
    assert listed == wanted | {f"{PINNED}[]": str(span)}


@pytest.mark.parametrize("extra", EXTRAS)
def test_extras_are_those_of_their_requirements_files(extra: str) -> None:
    assert set(PROJECT["project"]["optional-dependencies"]) == set(EXTRAS)
    listed = [Requirement(line) for line in PROJECT["project"]["optional-dependencies"][extra]]
    assert bounds(listed) == bounds(list(read_requirements(ROOT / EXTRAS[extra])))


# --- files


def test_the_packages_and_files_of_the_project_are_found() -> None:
    tool = PROJECT["tool"]["setuptools"]
    packages = find_packages(str(ROOT), include=tool["packages"]["find"]["include"])
    modules = list((ROOT / "pipeline").rglob("*.py"))
    assert set(packages) == {".".join(path.parent.relative_to(ROOT).parts) for path in modules}
    assert len(packages) > 30

    packed = {
        file
        for package, patterns in tool["package-data"].items()
        for pattern in patterns
        for file in ROOT.joinpath(*package.split(".")).glob(pattern)
    }
    others = {path for path in (ROOT / "pipeline").rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert packed == others
    assert packed >= {*PRESET_DIR.glob("*.yaml"), *ASSETS.iterdir(), ROOT / "pipeline" / "py.typed"}
    assert len(packed) > 10


def test_the_sample_is_installed_where_the_command_looks_for_it() -> None:
    [(folder, patterns)] = PROJECT["tool"]["setuptools"]["data-files"].items()
    assert f'"{folder.split("/")[0]}" / "core-entity-emotion" / "sample"' in (
        ROOT / "pipeline" / "cli" / "files.py"
    ).read_text(encoding="utf-8")
    assert folder == "share/core-entity-emotion/sample"
    assert {path for pattern in patterns for path in ROOT.glob(pattern)} == set(SAMPLE.iterdir())
    assert sum(path.stat().st_size for path in SAMPLE.iterdir()) < 2**20


# --- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy: building leaves files in the folder of the project."""
    folder = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_file() and not fnmatch(name, "docs/*"):
            target = folder / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*build, "--wheel-dir", folder, folder / "source"], check=True, timeout=TIMEOUT_S)
    [path] = folder.glob("*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pipeline").rglob("*") if path.is_file()}
    package = {name for name in package if not name.endswith(".pyc")}
    assert {name for name in names if name.startswith("pipeline/")} == package
    others = {name.split("/")[0] for name in names - package}
    assert others == {f"core_entity_emotion-{__version__}.{kind}" for kind in ("data", "dist-info")}


@pytest.mark.slow
def test_the_wheel_works_where_there_is_no_checkout(wheel: Path, tmp_path: Path) -> None:
    """Installed into a folder of its own, beside the packages of this environment."""
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", site]
    subprocess.run([*pip, wheel], check=True, timeout=TIMEOUT_S)

    def run(*arguments: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, str(site / "bin" / COMMAND), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    assert run("--version") == (f"{__version__}\n", "")
    assert "Usage: core-entities" in run("--help")[0]
    sample = site / "share" / "core-entity-emotion" / "sample"
    assert "--train FILE" in run("train", code=3)[1]  # pip --target puts the sample where nobody looks
    train = ("--train", str(sample / "train.jsonl"), "--preset", "tiny", "--run", "first", "--set", "workers=2")
    assert run("train", *train)[0] == "models/first\n"
    manifest = yaml.safe_load((tmp_path / "models" / "first" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["git"] == {"commit": None, "dirty": None}
    assert run("predict", "--input", str(sample / "test.jsonl"), "--output", "a.txt")[0] == "a.txt\n"
    run("report", "--run", "first", "--gold", str(sample / "test.jsonl"), "--out", "page")
    assert "<style>" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")


# --- what describes the project


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "pipeline.version.VERSION"}
    assert PROJECT["project"]["scripts"] == {COMMAND: "pipeline.cli.main:main"}
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["project"]["license"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")
    assert changes[1].startswith(__version__)


def test_hooks_and_workflow_run_what_the_project_has() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    assert [hook["entry"] for hook in hooks[0]["hooks"]] == [f"make {name}" for name in HOOKS]
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{name}:" in targets for name in HOOKS)
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    [job] = workflow["jobs"].values()
    assert job["steps"][-1] == {"run": "bash .ci/run"}
    assert (ROOT / ".ci" / "run").is_file()
    assert {"python-version": "3.11"} in [step.get("with") for step in job["steps"]]


@pytest.mark.parametrize("name", ["bug.md", "question.md"])
def test_templates_of_issues_have_what_the_site_needs(name: str) -> None:
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / name).read_text(encoding="utf-8")
    assert set(yaml.safe_load(text.split("---\n")[1])) == {"name", "about", "labels"}
