r"""Train on made-up articles of growing number: time, CPU time and memory of each stage, and how fast they grow.

    python -m benchmarks.official_size --labelled train.jsonl --filler news.jsonl --articles 1292 10000 40000 \\
        --save sizes.json -- --preset fast --set workers=2

What stands behind ``--`` goes to ``train``. Articles are made by ``benchmarks.recombined`` in a temporary folder and
thrown away with the runs. Memory is the proportional set size of all processes: a page that several share counts once.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.memory import usage_of
from benchmarks.recombined import recombined
from pipeline.data.read import iter_articles

RUN_PY = Path(__file__).resolve().parents[1] / "run.py"
RUN = "watched"
SAMPLE_S = 1.0
READING = "reading"
"""Before the first stage: rows, near-duplicates, folds."""


@dataclass
class StageUse:
    """What one stage of a training used."""

    minutes: float = 0.0
    cpu_minutes: float = 0.0
    peak_gib: float = 0.0
    """Proportional set size of all processes together."""
    peak_own_gib: float = 0.0
    """Of it, what is no page of a file: such pages can be dropped where memory is short."""


@dataclass
class Training:
    """One training that was watched."""

    n_articles: int
    stages: dict[str, StageUse]
    file_mib: float
    """Of the input."""
    run_mib: float
    """Of the run folder, when the run was finished."""
    peak_run_mib: float
    """The most that the run folder held meanwhile."""
    figures: dict[str, Any] = field(default_factory=dict)
    code: int = 0


def size_of(folder: Path) -> float:
    """Return the MiB of a folder's files."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # a temporary file that is gone
            continue
    return total / 2**20


def watched_training(source: Path, n_articles: int, models: Path, arguments: Sequence[str]) -> Training:
    """Train a run below ``models`` and watch it."""
    command = [sys.executable, str(RUN_PY), "train", "--train", str(source), "--run", RUN]
    run = models / RUN
    uses: dict[str, StageUse] = defaultdict(StageUse)
    done: list[str] = []
    peak_run, last_cpu, last_time = 0.0, 0.0, time.perf_counter()
    process = subprocess.Popen([*command, *arguments], cwd=models.parent, start_new_session=True)
    while process.poll() is None:
        time.sleep(SAMPLE_S)
        used, now = usage_of(process.pid), time.perf_counter()
        use = uses[READING if not run.is_dir() else f"after {done[-1]}" if done else "first"]
        use.minutes += (now - last_time) / 60
        use.cpu_minutes += max(0.0, used.cpu_s - last_cpu) / 60
        use.peak_gib = max(use.peak_gib, used.memory / 2**30)
        use.peak_own_gib = max(use.peak_own_gib, used.own_memory / 2**30)
        last_cpu, last_time = max(last_cpu, used.cpu_s), now
        peak_run = max(peak_run, size_of(run))
        progress = run / "progress.json"
        if progress.is_file():
            done = list(_read(progress))
    stages = {READING: uses[READING]}
    for before, stage in pairwise([None, *done]):
        stages[str(stage)] = uses["first" if before is None else f"after {before}"]
    figures = _read(run / "metrics.json")
    return Training(
        n_articles=n_articles,
        stages=stages,
        file_mib=source.stat().st_size / 2**20,
        run_mib=size_of(run),
        peak_run_mib=peak_run,
        figures={"out_of_fold": figures.get("out_of_fold"), "seconds": figures.get("seconds")},
        code=process.returncode,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def exponent(less: Training, more: Training, stage: str) -> float:
    """Return b of a stage whose CPU time grows as n to the power of b; n log n has about 1.1 from 1,000 on."""
    before, after = less.stages[stage].cpu_minutes, more.stages[stage].cpu_minutes
    if min(before, after) <= 0:
        return math.nan
    return math.log(after / before) / math.log(more.n_articles / less.n_articles)


def lines(trainings: Sequence[Training]) -> list[str]:
    """Return the table of all trainings, and the growth from each to the next."""
    found = ["| articles | stage | minutes | CPU minutes | peak GiB | of it no file | exponent |", "| --- " * 7 + "|"]
    for index, training in enumerate(trainings):
        for stage, use in training.stages.items():
            grown = ""
            if index and stage in trainings[index - 1].stages:
                grown = f"{exponent(trainings[index - 1], training, stage):.2f}"
            found.append(
                f"| {training.n_articles:,} | {stage} | {use.minutes:.1f} | {use.cpu_minutes:.1f} "
                f"| {use.peak_gib:.2f} | {use.peak_own_gib:.2f} | {grown} |"
            )
        total = training.stages.values()
        found.append(
            f"| {training.n_articles:,} | all | {sum(use.minutes for use in total):.1f} "
            f"| {sum(use.cpu_minutes for use in total):.1f} | {max(use.peak_gib for use in total):.2f} "
            f"| {max(use.peak_own_gib for use in total):.2f} | |"
        )
    for training in trainings:
        found.append(
            f"{training.n_articles:,} articles: file {training.file_mib:.0f} MiB, run {training.run_mib:.0f} MiB "
            f"({training.peak_run_mib:.0f} at most), exit code {training.code}, {training.figures['out_of_fold']}"
        )
    return found


def main() -> int:
    """Make, train, watch, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labelled", type=Path, action="append", required=True, help="may be given several times")
    parser.add_argument("--filler", type=Path, action="append", default=[], help="texts for their sentences")
    parser.add_argument("--articles", type=int, nargs="+", default=[1292, 10_000, 20_000, 40_000])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--save", type=Path, help="JSON file of all figures, written after each training")
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="of train")
    options = parser.parse_args()
    labelled = [article for path in options.labelled for article in iter_articles(path, labelled=True)]
    filler = [article for path in options.filler for article in iter_articles(path, labelled=False)]
    trainings: list[Training] = []
    for n_articles in sorted(options.articles):
        with tempfile.TemporaryDirectory() as name:
            source, models = Path(name) / "train.jsonl", Path(name) / "models"
            models.mkdir()
            with source.open("w", encoding="utf-8") as file:
                for row in recombined(labelled, filler, n_articles, seed=options.seed):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            trainings.append(watched_training(source, n_articles, models, options.arguments))
        if options.save:
            options.save.write_text(json.dumps([asdict(training) for training in trainings], indent=1))
        print("\n".join(lines(trainings)), flush=True)
        if trainings[-1].code:
            return trainings[-1].code
    return 0


if __name__ == "__main__":
    sys.exit(main())
