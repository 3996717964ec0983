"""Target heads on the English sets of their papers, beside the figures printed there.

    python -m benchmarks.english_packages --out ../english
    python -m benchmarks.english_targets ../shared/data --encoder ../english/minilm-en --out en-minilm.json
    python -m benchmarks.english_targets ../shared/data --vectors ../english/glove.6B.50d.bin --out en-glove.json

The official training files are learnt from, less a tenth of their texts, which chooses the epoch; the official test
files are scored. With neither ``--encoder`` nor ``--vectors`` the vectors are learnt from random starts. ``--set``
overrides any option; to choose between options look at the column of the dev accuracy.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.head_tables import config_of, parser, print_table, results_of
from pipeline.config import Config
from pipeline.errors import ConfigError
from pipeline.standalone.heads.results import MAJORITY, HeadSummary


@dataclass(frozen=True)
class BenchmarkSet:
    """One set of rows."""

    folder: str
    prefix: str = ""
    """Of the names of its files."""

    def file(self, data: Path, split: str) -> Path:
        """Return the path of train or test."""
        return data / self.folder / f"{self.prefix}{split}.jsonl"


SETS = {
    "restaurants": BenchmarkSet("semeval14_restaurants"),
    "laptops": BenchmarkSet("semeval14_laptops"),
    "twitter": BenchmarkSet("acl14_twitter"),
    "categories": BenchmarkSet("semeval14_restaurants", "category_"),
}
HEADS = ("lstm", "td_lstm", "tc_lstm", "at_lstm", "atae_lstm", "ian", "af_lstm")
PUBLISHED = {
    "restaurants": {"lstm": 74.3, "td_lstm": 75.6, "atae_lstm": 77.2, "ian": 78.6, "af_lstm": 75.4},
    "laptops": {"lstm": 66.5, "td_lstm": 68.1, "atae_lstm": 68.7, "ian": 72.1, "af_lstm": 68.8},
    "twitter": {"lstm": 66.5, "td_lstm": 70.8, "tc_lstm": 71.5},
    "categories": {},
}
"""Accuracy in percent, as printed in the papers."""

COMMON = (
    "head.class_weight_power=0",  # accuracy counts, and the papers weigh no class
    "sentiment.dev_fraction=0.1",
    "head.hidden_dim=150",
    "head.dropout=0.5",
    "training.batch_size=32",
    "training.learning_rate=1e-3",
    "training.max_epochs=20",
    "training.patience=5",
)
ENCODER = (
    "head.embedding=encoder",
    "head.encoder.learning_rate=1e-4",
    "head.encoder.training.learning_rate=1e-3",
    "head.encoder.training.batch_size=16",
    "head.encoder.training.max_epochs=6",
    "head.encoder.training.patience=3",
)
VECTORS = ("head.embedding=vectors", "head.tokens=word", "head.vectors_mode=static")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = _parser().parse_args(arguments)
    config = _config(options)
    kept = results_of(options)
    for name in options.sets:
        rows = SETS[name]
        summaries = print_table(
            name,
            rows.file(options.data, "train"),
            rows.file(options.data, "test"),
            config=config,
            options=options,
            kept=kept,
        )
        print(beside_published(name, summaries), flush=True)


def beside_published(name: str, summaries: Sequence[HeadSummary]) -> str:
    """Return a Markdown table of the heads that have a published figure on a set, "" where none has."""
    published = PUBLISHED[name]
    lines = [
        f"| {row.head} | {published[row.head]:.1f} | {_percent(row)} |"
        f" {100 * row.accuracy[0] - published[row.head]:+.1f} |"
        for row in summaries
        if row.head in published and row.head != MAJORITY
    ]
    if not lines:
        return ""
    return "\n".join(["| head | published | here | difference |", "| --- | ---: | ---: | ---: |", *lines]) + "\n"


def _percent(row: HeadSummary) -> str:
    spread = f" ± {100 * row.accuracy[1]:.1f}" if row.n_seeds > 1 else ""
    return f"{100 * row.accuracy[0]:.1f}{spread}"


def _parser() -> argparse.ArgumentParser:
    found = parser(__doc__, heads=HEADS, sets=tuple(SETS))
    found.add_argument("data", type=Path, help="folder with " + ", ".join({rows.folder: 0 for rows in SETS.values()}))
    found.add_argument("--encoder", help="folder of a pre-trained encoder; its states are the vectors")
    found.add_argument("--frozen", action="store_true", help="leave the encoder as it is")
    found.add_argument("--cache", default="", help="folder for the states of a frozen encoder")
    found.add_argument("--vectors", help="file of word vectors, left as they are")
    return found


def _config(options: argparse.Namespace) -> Config:
    own = [*COMMON]
    if options.encoder and options.vectors:
        raise ConfigError("want either --encoder or --vectors")
    if options.encoder:
        own += [*ENCODER, f"head.encoder.name={options.encoder}"]
        own += ["head.encoder_mode=frozen", f"head.states_cache={options.cache}"] if options.frozen else []
    elif options.vectors:
        own += [*VECTORS, f"head.vectors={options.vectors}"]
    return config_of(options, own)


if __name__ == "__main__":
    main()
