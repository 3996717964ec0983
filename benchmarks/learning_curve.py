"""What more examples are worth: linear members and heads, learning from growing parts of the same rows.

python -m benchmarks.learning_curve --data train.jsonl --sizes 300 600 1200 2400 --heads ian af_lstm
    --out work/curve.jsonl [--folds 3] [--seeds 7 8 9] [--at 92000] [--set head.encoder.name=builtin:e5-zh-6]

No text is in two folds. In each fold every member learns from the same parts of the rest; a smaller part lies within
the larger ones. The file of --out gets a JSON line a training, and what it holds is not done again. What stands under
--at is an extrapolation: a straight line over the logarithm of the size, through the three largest sizes.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.head_options import folds
from pipeline.artifacts import sha256_file
from pipeline.config import Config, load_config
from pipeline.data.formats.sentiment import SentimentRow
from pipeline.emotions.sentiment.members import LINEAR, build_linear
from pipeline.schema import EMOTIONS
from pipeline.standalone.heads.rows import read_rows
from pipeline.standalone.heads.split import cut_by_group
from pipeline.standalone.heads.states import kept_states
from pipeline.standalone.heads.training import fit_head, most_frequent, score

logger = logging.getLogger("benchmarks")
AVERAGE, COMMONEST = "linear average", "most frequent"
FITTED_SIZES = 3
"""Largest sizes that the line of the extrapolation goes through."""


@dataclass(frozen=True)
class Part:
    """A training part of a fold."""

    size: int
    fold: int
    seed: int
    train: list[SentimentRow]
    test: list[SentimentRow]


def parts_of(rows: Sequence[SentimentRow], sizes: Sequence[int], n_folds: int, seed: int) -> list[Part]:
    """Cut rows into folds, and what is learnt from in each into parts of about these sizes, one within the other."""
    found = []
    for fold, (train, test) in enumerate(folds(rows, n_folds)):
        rest = train
        for size in sorted(sizes, reverse=True):
            if size < len(rest):
                rest = cut_by_group(rest, fraction=size / len(rest), seed=seed + fold)[1]
            elif size > len(train):
                continue
            found.append(Part(size, fold, seed, rest, test))
    return found


def linear_probs(part: Part, config: Config) -> dict[str, NDArray[np.float64]]:
    """Fit every linear member; return its probabilities of the test rows, (n_rows, n_emotions), and their mean."""
    examples, labels = [row.example for row in part.train], [row.label for row in part.train]
    found = {}
    for name in LINEAR:
        member = build_linear(name, class_weight_power=config.sentiment.class_weight_power)
        found[name] = member.fit(examples, labels).predict_proba([row.example for row in part.test])
    return found


def head_probs(head: str, part: Part, config: Config, states: Path | None) -> NDArray[np.float64]:
    """Fit a head; return its probabilities of the test rows, (n_rows, n_emotions)."""
    classes = [emotion.value for emotion in EMOTIONS]
    fitted = fit_head(head, config, part.train, None, classes=classes, seed=part.seed + part.fold, states=states)
    probs: NDArray[np.float64] = fitted.model.predict_proba([row.example for row in part.test])
    return probs


def scored(probs: NDArray[np.float64], part: Part) -> dict[str, float]:
    """Return accuracy and macro-F1 of probabilities."""
    classes = [emotion.value for emotion in EMOTIONS]
    scores = score([classes[column] for column in probs.argmax(1)], part.test, classes)
    return {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}


def extrapolated(sizes: Sequence[int], figures: Sequence[float], at: int) -> float:
    """Return what a straight line over log(size) through the largest sizes says of another size."""
    chosen = np.argsort(sizes)[-FITTED_SIZES:]
    slope, offset = np.polyfit(np.log(np.array(sizes)[chosen]), np.array(figures)[chosen], 1)
    return float(slope * np.log(at) + offset)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what lacks, and print a table: accuracy and macro-F1 of each member at each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="labelled rows or articles")
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="examples to learn from")
    parser.add_argument("--heads", nargs="*", default=["ian", "af_lstm"], metavar="NAME")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[7])
    parser.add_argument("--at", type=int, default=92_000, help="size to extrapolate to")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, required=True, help="keeps every training")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    config = load_config(overrides=options.overrides)
    max_chars = config.sentiment.max_context_chars
    rows = [row for path in options.data for row in read_rows(path, max_context_chars=max_chars).rows]
    facts = {"data": [sha256_file(path) for path in options.data], "folds": options.folds, "set": options.overrides}
    kept = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    with kept_states(options.heads, config) as states:
        for seed in options.seeds:
            for part in parts_of(rows, options.sizes, options.folds, seed):
                _measure(part, options, config, states, facts, kept)
    print("\n".join(table([row for row in kept if facts.items() <= row.items()], options)))


def _measure(
    part: Part,
    options: argparse.Namespace,
    config: Config,
    states: Path | None,
    facts: dict[str, object],
    kept: list[dict[str, object]],
) -> None:
    """Train what lacks of a part; ``kept`` and the file get a row each."""
    place = {**facts, "size": part.size, "fold": part.fold, "seed": part.seed}

    def note(member: str, figures: dict[str, float], seconds: float) -> None:
        row = {**place, "member": member, "learnt": len(part.train), **figures, "seconds": round(seconds, 1)}
        kept.append(row)
        with options.out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        logger.info("%s", {name: value for name, value in row.items() if name not in facts})

    def lacks(member: str) -> bool:
        return not any({**place, "member": member}.items() <= row.items() for row in kept)

    if lacks(AVERAGE):
        start = time.process_time()
        probs = linear_probs(part, config)
        seconds = time.process_time() - start
        for name, found in probs.items():
            note(name, scored(found, part), seconds / len(probs))
        note(AVERAGE, scored(np.mean(list(probs.values()), axis=0), part), seconds)
        answer = [emotion.value for emotion in EMOTIONS].index(
            most_frequent(part.train, [emotion.value for emotion in EMOTIONS])
        )
        note(COMMONEST, scored(np.eye(len(EMOTIONS))[[answer] * len(part.test)], part), 0.0)
    for head in options.heads:
        if lacks(head):
            start = time.process_time()
            found = head_probs(head, part, config, states)
            note(head, scored(found, part), time.process_time() - start)


def table(rows: Sequence[dict[str, object]], options: argparse.Namespace) -> list[str]:
    """Return a Markdown table: means over folds and seeds, the spread of the folds' accuracy, and the extrapolation."""
    sizes = [size for size in sorted(options.sizes) if any(row["size"] == size for row in rows)]
    lines = [
        f"| member | {' | '.join(f'{size:,}' for size in sizes)} | at {options.at:,} (extrapolated) |",
        "| --- " * (len(sizes) + 2) + "|",
    ]
    for member in [COMMONEST, *LINEAR, AVERAGE, *options.heads]:
        cells, means = [], []
        for size in sizes:
            found = [row for row in rows if row["member"] == member and row["size"] == size]
            accuracy = np.array([float(str(row["accuracy"])) for row in found])
            macro = np.array([float(str(row["macro_f1"])) for row in found])
            means.append(float(accuracy.mean()))
            cells.append(f"{accuracy.mean():.3f} ± {accuracy.std():.3f} / {macro.mean():.3f}")
        beyond = f"{extrapolated(sizes, means, options.at):.3f}" if len(sizes) > 1 else ""
        lines.append(f"| {member} | {' | '.join(cells)} | {beyond} |")
    return [*lines, "", f"accuracy ± its spread over {options.folds} folds / macro-F1; seeds {options.seeds}"]


if __name__ == "__main__":
    main()
