"""The scripts of examples/, run as their docstrings say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.command_line import TIMEOUT_S, TinyRun
from tests.support.paths import ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = ("own_feature.py", "own_head.py", "predict_articles.py")


def run_example(name: str, *arguments: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def test_every_script_is_tested_and_says_how_to_run_it() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(SCRIPTS)
    for name in SCRIPTS:
        assert f"    python examples/{name}" in (EXAMPLES / name).read_text(encoding="utf-8").split('"""')[1]


def test_predict_articles(tiny_run: TinyRun, tiny_data: Path, tmp_path: Path) -> None:
    lines = run_example("predict_articles.py", tiny_run.path, tiny_data / "test.jsonl", cwd=tmp_path).stdout.split("\n")
    answered = [line for line in lines if line.startswith("tiny")]
    assert len(answered) == len((tiny_data / "test.jsonl").read_bytes().splitlines())
    assert ", named " in lines[0]
    assert re.fullmatch(r"score: [01]\.\d{4}", lines[-2])


def test_predict_articles_says_what_is_wrong(tmp_path: Path) -> None:
    done = run_example("predict_articles.py", tmp_path / "nothing", "rows.jsonl", cwd=tmp_path, code=1)
    assert done.stderr == f"error: {tmp_path / 'nothing'}: no such run folder\n"
    assert "python examples/predict_articles.py" in run_example("predict_articles.py", cwd=tmp_path, code=1).stderr


def test_own_head(tmp_path: Path) -> None:
    summary, praised, blamed = run_example("own_head.py", cwd=tmp_path).stdout.splitlines()
    assert summary.startswith("mean_and_target: ")
    assert praised.startswith("海棠酒店值得称赞。 POS 0.")
    assert blamed.startswith("海棠酒店令人失望。 NEG 0.")


def test_own_feature(tmp_path: Path) -> None:
    assert "云杉汽车: 3 times, 1 of them loud (0.33)" in run_example("own_feature.py", cwd=tmp_path).stdout.splitlines()
