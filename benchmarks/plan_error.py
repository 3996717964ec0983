"""What ``train --dry-run`` estimates against what a training takes: seconds and memory of each stage.

python -m benchmarks.plan_error --train articles.jsonl --preset fast
python -m benchmarks.plan_error --train articles.jsonl --preset paper --limit 200 --set workers=1

CPU seconds are those of all processes. On a busy machine seconds of the clock cannot be compared, and even CPU seconds
grow: a small fixed piece of work is timed all the while, and the last column allows for how much slower it was in the
stage than in the calibration.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.memory import SAMPLE_S, memory_of
from pipeline.artifacts import RunFolder
from pipeline.config import load_given, presets
from pipeline.workflow.dry_run import plan_training
from pipeline.workflow.estimates import StageEstimate
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest

STAGE_DONE = "stage %s: %.0f s"
"""What the training logs when a stage is done, before its values are filled in."""
COLUMNS = ("stage", "of", "estimated", "measured", "estimated / measured", "at the same speed")
PROBE = """
import sys, time
import numpy as np
values = np.random.default_rng(0).random(400_000)
while True:
    started = time.process_time()
    np.sort(values)
    sum(number * number for number in range(200_000))
    print(time.process_time() - started, flush=True)
    time.sleep(1.0)
"""
"""A process of its own: sorting in memory and plain Python."""


@dataclass(frozen=True)
class Measured:
    """What a stage took."""

    seconds: float
    cpu_seconds: float
    memory_bytes: float
    probe_seconds: float
    """CPU seconds of a fixed piece of work meanwhile."""


class Probe:
    """Times a fixed piece of work again and again, to tell how fast the machine is just now."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", PROBE], stdout=subprocess.PIPE, text=True)
        self._times: list[float] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def mean(self) -> float:
        """Return the mean since it was asked last; not-a-number where there was no time for it."""
        times, self._times = self._times, []
        return statistics.fmean(times) if times else math.nan

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._times.append(float(line))


class StageWatch(logging.Handler):
    """Reads the clocks whenever a training says that a stage is done."""

    def __init__(self, probe: Probe) -> None:
        super().__init__()
        self.found: dict[str, Measured] = {}
        self._probe = probe
        self._peak, self._ended = 0, threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._before = (time.perf_counter(), _cpu_seconds())

    def start(self) -> None:
        """Begin to look at the memory; the first stage begins now."""
        self._before = (time.perf_counter(), _cpu_seconds())
        self._sampler.start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        self._sampler.join()

    def emit(self, record: logging.LogRecord) -> None:
        """Note the stage that a record says is done."""
        if record.msg != STAGE_DONE or not isinstance(record.args, tuple):
            return
        now = (time.perf_counter(), _cpu_seconds())
        wall, cpu = (after - before for after, before in zip(now, self._before, strict=True))
        self.found[str(record.args[0])] = Measured(wall, cpu, self._peak, self._probe.mean())
        self._before, self._peak = now, 0

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self._peak = max(self._peak, memory_of(os.getpid()))


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def compare(
    estimates: Sequence[StageEstimate], measured: dict[str, Measured], probe_seconds: float
) -> list[tuple[Any, ...]]:
    """Return a row for each stage and quantity: estimated, measured, and how many times too much was estimated.

    Args:
        estimates: of the stages.
        measured: by the name of the stage.
        probe_seconds: of the fixed piece of work during the calibration.
    """
    rows: list[tuple[Any, ...]] = []
    for stage in estimates:
        real = measured[stage.stage]
        for of, ours, theirs in (
            ("CPU s", stage.cpu_seconds, real.cpu_seconds),
            ("wall s", stage.seconds, real.seconds),
            ("peak GB", stage.memory_bytes / 1e9, real.memory_bytes / 1e9),
        ):
            ratio, slower = ours / max(theirs, 1e-9), real.probe_seconds / probe_seconds
            same = round(ratio * slower, 2) if of == "CPU s" else ""
            rows.append((stage.stage, of, round(ours, 2), round(theirs, 2), round(ratio, 2), same))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate, train into a temporary folder, and print both as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, required=True, metavar="FILE", help="labelled articles")
    parser.add_argument("--preset", choices=presets(), default="fast")
    parser.add_argument("--limit", type=int, metavar="N", help="read so many articles")
    parser.add_argument("--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    config, given = load_given(preset=options.preset, overrides=options.overrides)
    request = TrainRequest([options.train], config, limit=options.limit, given=given)
    probe = Probe()
    found = plan_training(request, calibrated=True)
    calibrated_at = probe.mean()
    plan = found.sizes
    if plan is None:
        raise SystemExit("nothing was estimated")
    print("\n".join(found.lines()), flush=True)

    watch, logger = StageWatch(probe), logging.getLogger("pipeline.workflow.train")
    logger.addHandler(watch)
    with tempfile.TemporaryDirectory() as folder:
        watch.start()
        try:
            train(
                TrainRequest([options.train], plan.config, limit=options.limit), RunFolder.create(Path(folder), "run")
            )
        finally:
            watch.stop()
            probe.stop()
            logger.removeHandler(watch)
    print(" | ".join(COLUMNS))
    for row in compare(plan.stages, watch.found, calibrated_at):
        print(" | ".join(map(str, row)))


if __name__ == "__main__":
    main()
