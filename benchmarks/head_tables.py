"""What the benchmarks of heads share: options of the command line, and one table a set of rows.

Every training is kept in the JSON file of ``--out`` at once, with checksums of the data and all options; a benchmark
that was stopped, by whatever, goes on where it was when the same command is given again.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import torch

from pipeline.artifacts import output_file
from pipeline.config import Config, load_config
from pipeline.standalone.heads.compare import compare, load_comparison
from pipeline.standalone.heads.results import HeadSummary, ResultFile, markdown_table


def parser(description: str | None, *, heads: Sequence[str], sets: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with the options that all have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--heads", nargs="+", default=list(heads), metavar="NAME")
    found.add_argument("--sets", nargs="+", default=list(sets), choices=sets, metavar="NAME", help=", ".join(sets))
    found.add_argument("--seeds", type=int, default=3, help="trainings of each head")
    found.add_argument("--preset", default="cpu")
    found.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    found.add_argument("--workers", type=int, default=1, help="trainings at a time")
    found.add_argument("--out", type=Path, required=True, help="JSON file that keeps every training", metavar="FILE")
    return found


def config_of(options: argparse.Namespace, own: Sequence[str]) -> Config:
    """Merge the options of a benchmark with those of its command line, which win."""
    return load_config(preset=options.preset, overrides=[*own, *options.overrides])


def results_of(options: argparse.Namespace) -> ResultFile:
    """Open the file that keeps the trainings, and say on standard error what goes on."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    output_file(options.out)
    return ResultFile(options.out)


def print_table(
    name: str,
    train: Path,
    test: Path,
    *,
    dev: Path | None = None,
    config: Config,
    options: argparse.Namespace,
    kept: ResultFile,
) -> list[HeadSummary]:
    """Compare the heads on one set of rows, and print the table as Markdown."""
    comparison = load_comparison(train, test, dev=dev, config=config, heads=options.heads, n_seeds=options.seeds)
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else f"{os.cpu_count()} cores"
    sizes = f"{len(comparison.train):,} training and {len(comparison.test):,} test examples"
    print(f"## {name}: {sizes}, {options.seeds} seed(s), torch {torch.__version__}, {device}\n", flush=True)
    summaries = compare(comparison, kept, workers=options.workers)
    print(markdown_table(summaries), flush=True)
    return summaries
