"""Articles that a run was trained on: told by every command that answers or measures on them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Done, TinyRun

N_KNOWN = 3


@pytest.fixture
def mixed(tiny_data: Path, tiny_run: TinyRun, tmp_path: Path) -> Path:
    """Return articles of which three are trained on, beside the folder of the run; both in the working folder."""
    (tmp_path / "models").symlink_to(tiny_run.path.parent)
    known, new = ((tiny_data / name).read_bytes().splitlines(keepends=True) for name in ("train.jsonl", "test.jsonl"))
    (tmp_path / "mixed.jsonl").write_bytes(b"".join([*known[:N_KNOWN], *new]))
    return tmp_path / "mixed.jsonl"


def test_articles_of_training_are_told(
    run_here: Callable[..., Done], mixed: Path, tiny_run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    n_rows, run = len(mixed.read_bytes().splitlines()), tiny_run.name
    told = f"mixed.jsonl: {N_KNOWN} of {n_rows} articles have the text of a training row"
    done = run_here("predict", "--run", run, "--input", "mixed.jsonl", "--output", "a.txt")
    assert (done.code, done.err.count(told)) == (0, 1), done.err
    evaluate = ("evaluate", "--gold", "mixed.jsonl", "--submission", "a.txt")
    assert run_here(*evaluate).err.count(told) == 1
    done = run_here("report", "--run", run, "--gold", "mixed.jsonl", "--out", "report")
    assert (done.code, done.err.count(told)) == (0, 1), done.err
    done = run_here("compare", "runs", "--run", run, "--other", run, "--gold", "mixed.jsonl")
    assert (done.code, done.err.count(f"{told} of {run}; figures")) == (0, 2), done.err
    done = run_here("predict", "--run", run, "--input", tiny_data / "test.jsonl", "--output", "b.txt")
    assert (done.code, "training row" in done.err) == (0, False), done.err


def test_a_score_does_not_depend_on_what_is_known_of_the_run(
    run_here: Callable[..., Done], mixed: Path, tiny_run: TinyRun, tmp_path: Path
) -> None:
    """Told for the file as predict left it, and the run as it was; the figures are printed all the same."""
    assert run_here("predict", "--run", tiny_run.name, "--input", "mixed.jsonl", "--output", "a.txt").code == 0
    evaluate = ("evaluate", "--gold", "mixed.jsonl", "--submission")
    figures = run_here(*evaluate, "a.txt").out
    (tmp_path / "moved.txt").write_bytes((tmp_path / "a.txt").read_bytes())
    done = run_here(*evaluate, "moved.txt")
    assert (done.code, done.err, done.out) == (0, "", figures)
    (tmp_path / "models").unlink()
    done = run_here(*evaluate, "a.txt")
    assert (done.code, done.err, done.out) == (0, "", figures)


def test_articles_of_training_are_told_before_modes_are_compared(
    run_here: Callable[..., Done], tiny_run: TinyRun, tiny_data: Path, mixed: Path
) -> None:
    files = ("--train", tiny_data / "train.jsonl", "--test", mixed)
    done = run_here("compare", "modes", *files, "--runs", f"{tiny_run.name},{tiny_run.name}")
    assert f"{N_KNOWN} of {len(mixed.read_bytes().splitlines())} articles of --test are trained on" in done.err
