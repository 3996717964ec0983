"""Taggers on a set of named entities: trains each, scores it, and prints a Markdown table.

    python -m benchmarks.ner ../shared/data/cluener bert:3 lstm:15 encoder:15 --seeds 1 2 3 --set tagger.scheme=BIO

The folder holds train and dev (or what ``--split`` names) as .jsonl, .jsonl.gz or .csv. The epoch is not chosen by the
rows that are scored: the last one counts, or the best one on ``tagger.dev_fraction`` of the training rows.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import torch

from pipeline.artifacts import StageTimer
from pipeline.config import Config, load_config
from pipeline.data.formats.tagging import read_rows
from pipeline.errors import DataError
from pipeline.standalone.tagging.tagger import find_spans, load_tagger, score_file
from pipeline.standalone.tagging.training import TagTraining, train_tagger

FORMS = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")
HEADER = "| tagger | epochs | seed | precision | recall | micro F1 | macro F1 | train min | tag min |"


@dataclass(frozen=True)
class Outcome:
    """One row of the table."""

    figures: list[float]
    """Precision, recall, micro F1, macro F1."""
    minutes: list[float]
    """Of training, and of tagging."""


def main() -> None:
    """Run the benchmark."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")  # on standard error
    options = _parser().parse_args()
    train_file, gold_file = _find(options.data, "train"), _find(options.data, options.split)
    sizes = [f"{len(read_rows(path).rows):,} rows of {path.name}" for path in (train_file, gold_file)]
    print(f"{options.data.name}: trained on {sizes[0]}, scored on {sizes[1]}; ", end="")
    print(f"torch {torch.__version__}, {os.cpu_count()} cores; {' '.join(options.overrides) or 'default options'}\n")
    print(HEADER + "\n" + "| --- |" + " ---: |" * 8, flush=True)
    for spec in options.taggers:
        name, _, epochs = spec.partition(":")
        outcomes = []
        for seed in options.seeds:
            config = _config(options, name, epochs, seed)
            outcome = run(config, train_file, gold_file)
            outcomes.append(outcome)
            print(_line(name, config, str(seed), outcome), flush=True)
        if len(outcomes) > 1:
            print(_line(name, config, "mean", _mean(outcomes)))
            spread = stdev(outcome.figures[2] for outcome in outcomes)
            print(f"| {name} | | ± | | | {spread:.4f} | | | |", flush=True)


def run(config: Config, train_file: Path, gold_file: Path) -> Outcome:
    """Train and score one tagger, as ``tag train`` and ``tag evaluate`` do."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        with StageTimer() as training:
            train_tagger(TagTraining([train_file], config), model)
        gold = read_rows(gold_file)
        with StageTimer() as tagging:
            found = find_spans(load_tagger(model, threads=config.workers), gold)
    scores = score_file(gold, found)
    micro = scores.micro
    figures = [value or 0.0 for value in (micro.precision, micro.recall, micro.f1, scores.macro.f1)]
    return Outcome(figures, [training.seconds / 60, tagging.seconds / 60])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with train and dev")
    parser.add_argument("taggers", nargs="+", metavar="TAGGER[:EPOCHS]")
    parser.add_argument("--epochs", help="of the taggers without a number of their own")
    parser.add_argument("--seeds", type=int, nargs="+", default=[7])
    parser.add_argument("--split", default="dev", help="what is scored: dev, test")
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    return parser


def _config(options: argparse.Namespace, name: str, epochs: str, seed: int) -> Config:
    epochs = epochs or options.epochs
    own = [f"tagger.name={name}", f"seed={seed}", *([f"tagger.training.max_epochs={epochs}"] if epochs else [])]
    return load_config(preset=options.preset, overrides=[*options.overrides, *own])


def _find(folder: Path, split: str) -> Path:
    for form in FORMS:
        if (path := folder / f"{split}{form}").is_file():
            return path
    raise DataError(f"{folder}: holds no {split} as {', '.join(FORMS)}")


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    figures = zip(*(outcome.figures for outcome in outcomes), strict=True)
    minutes = zip(*(outcome.minutes for outcome in outcomes), strict=True)
    return Outcome(list(map(mean, figures)), list(map(mean, minutes)))


def _line(name: str, config: Config, seed: str, outcome: Outcome) -> str:
    numbers = [f"{value:.4f}" for value in outcome.figures] + [f"{value:.1f}" for value in outcome.minutes]
    return f"| {name} | {config.tagger.training.max_epochs} | {seed} | {' | '.join(numbers)} |"


if __name__ == "__main__":
    main()
