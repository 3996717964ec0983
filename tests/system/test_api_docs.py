"""The Python on docs/API.md and in the READMEs: every block is run, and prints what its comments say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from tests.support.command_line import TIMEOUT_S, TinyRun
from tests.support.paths import ROOT, SAMPLE

N_BLOCKS = {"docs/API.md": 7, "README.md": 1, "README.zh-CN.md": 1}
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(r"  # prints (.+)$", re.MULTILINE)


def blocks_of(page: str) -> list[str]:
    return _BLOCK.findall(page)


def matches(expected: str, printed: str) -> bool:
    """Tell whether a line is the one expected, in which "…" stands for anything."""
    return re.fullmatch(".+".join(map(re.escape, expected.split("…"))), printed) is not None


@pytest.fixture
def folder(tiny_run: TinyRun, tmp_path: Path) -> Path:
    """Return a folder as the pages assume: the run ``first``, and the sample."""
    tiny_run.copy_to(tmp_path, name="first")
    shutil.copytree(SAMPLE, tmp_path / "data" / "sample")
    return tmp_path


@pytest.mark.parametrize("name", N_BLOCKS)
def test_the_code_of_a_page_runs_and_prints_what_it_says(name: str, folder: Path) -> None:
    blocks = blocks_of((ROOT / name).read_text(encoding="utf-8"))
    assert len(blocks) == N_BLOCKS[name]
    script = folder / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed, expected = done.stdout.splitlines(), _PRINTED.findall(script.read_text(encoding="utf-8"))
    if name == "docs/API.md":
        assert len(printed) == len(expected) > 5
        assert [line for line, wanted in zip(printed, expected, strict=True) if not matches(wanted, line)] == []
    else:
        *entities, score = printed
        assert 1 <= len(entities) <= 3
        assert all(re.match(r".+ (POS|NORM|NEG) \(0\.", line) for line in entities)
        assert 0 <= float(score) <= 1


def test_this_test_notices_what_is_wrong() -> None:
    assert blocks_of("a\n```python\nx = 1\n```\nb\n```bash\nls\n```\n") == ["x = 1\n"]
    assert matches("… of 3", "2 of 3")
    assert not matches("… of 3", "2 of 4")
    assert not matches("2 of 3", "12 of 3")


def test_the_page_lists_every_public_name() -> None:
    table = (ROOT / "docs" / "API.md").read_text(encoding="utf-8").partition("## All names")[2]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(pipeline.__all__)
