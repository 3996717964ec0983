"""The benchmark that compares an estimate with a training: what it reads of the log, and its rows."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Iterator

import pytest

from benchmarks.plan_error import STAGE_DONE, Measured, Probe, StageWatch, compare
from pipeline.workflow import train
from pipeline.workflow.estimates import StageEstimate


def test_rows_are_estimated_measured_and_their_ratio() -> None:
    estimates = [StageEstimate("tagger", seconds=30.0, cpu_seconds=50.0, memory_bytes=2e9)]
    measured = {"tagger": Measured(seconds=60.0, cpu_seconds=100.0, memory_bytes=1e9, probe_seconds=0.3)}
    assert compare(estimates, measured, 0.2) == [
        ("tagger", "CPU s", 50.0, 100.0, 0.5, 0.75),  # the machine was half as fast again in the calibration
        ("tagger", "wall s", 30.0, 60.0, 0.5, ""),
        ("tagger", "peak GB", 2.0, 1.0, 2.0, ""),
    ]


@pytest.fixture
def probe() -> Iterator[Probe]:
    found = Probe()
    yield found
    found.stop()


def test_a_stage_ends_where_the_training_says_so(probe: Probe) -> None:
    assert f'"{STAGE_DONE}"' in inspect.getsource(train)
    watch, logger = StageWatch(probe), logging.getLogger("tests.plan_error")
    watch.start()
    logger.addHandler(watch)
    logger.setLevel(logging.INFO)
    try:
        logger.info(STAGE_DONE, "tagger", 3.0)
        logger.info("stage %s: done before", "rerank")
    finally:
        watch.stop()
        logger.removeHandler(watch)
    assert set(watch.found) == {"tagger"}
    assert watch.found["tagger"].seconds >= 0


def test_without_time_for_the_probe_there_is_no_figure(probe: Probe) -> None:
    probe.stop()
    probe.mean()
    assert math.isnan(probe.mean())
