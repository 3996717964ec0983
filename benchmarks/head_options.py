"""Options of the target heads chosen by cross-validation: every head with every setting on the same folds.

python -m benchmarks.head_options --data ../shared/data/sohu2019/train.jsonl --out work/head_options.jsonl
    [--heads ian af_lstm] [--folds 3] [--rows 2000] [--setting "head.hidden_dim=128 training.max_epochs=16"] ...

No text is in two folds. A part of the training folds chooses the epoch, the same for every setting. The file of --out
gets a JSON line a training, and what it holds is not done again.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from pipeline.artifacts import sha256_file
from pipeline.config import load_config
from pipeline.data.formats.sentiment import SentimentRow
from pipeline.schema import EMOTIONS
from pipeline.standalone.heads.rows import read_rows
from pipeline.standalone.heads.split import cut_by_group
from pipeline.standalone.heads.states import kept_states
from pipeline.standalone.heads.training import answers, fit_head, most_frequent, score

logger = logging.getLogger("benchmarks")
SEED = 7


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what lacks, and print a Markdown table: accuracy, macro-F1, and CPU seconds of a training."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="labelled rows or articles")
    parser.add_argument("--heads", nargs="+", default=["ian", "af_lstm"], metavar="NAME")
    parser.add_argument("--setting", action="append", metavar="'KEY=VALUE ...'", help="may be given several times")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="use about this many rows, whole texts")
    parser.add_argument("--out", type=Path, required=True, help="keeps every training")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    settings: list[str] = options.setting or [""]
    rows = read_rows(options.data, max_context_chars=load_config().sentiment.max_context_chars).rows
    if options.rows and options.rows < len(rows):
        rows = cut_by_group(rows, fraction=options.rows / len(rows), seed=SEED)[1]
    kept = _kept(options.out)
    for head in options.heads:
        for setting in settings:
            measure(head, setting, rows, options, kept)
    _print(rows, settings, options, kept)


def measure(
    head: str, setting: str, rows: Sequence[SentimentRow], options: argparse.Namespace, kept: list[dict[str, object]]
) -> None:
    """Train and score a head on each fold; ``kept`` and the file get a row each."""
    config = load_config(overrides=setting.split())
    classes = [emotion.value for emotion in EMOTIONS if emotion in {row.label for row in rows}]
    with kept_states([head], config) as states:
        for fold, (train, test) in enumerate(folds(rows, options.folds)):
            key = _key(head, setting, fold, len(rows), options)
            if any(key.items() <= row.items() for row in kept):
                continue
            start = time.process_time()
            fitted = fit_head(head, config, train, None, classes=classes, seed=SEED + fold, states=states)
            seconds = time.process_time() - start
            given = answers(fitted.model, test)
            scores = score(given, test, classes)
            commonest = score([most_frequent(train, classes)] * len(test), test, classes)
            row = {
                **key,
                "rows": len(test),
                "accuracy": scores.accuracy,
                "macro_f1": scores.macro_f1,
                "majority": commonest.accuracy,
                "seconds": round(seconds, 1),
            }
            kept.append(row)
            with options.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
            logger.info("%s", row)


def folds(rows: Sequence[SentimentRow], n_folds: int) -> list[tuple[list[SentimentRow], list[SentimentRow]]]:
    """Return training and test rows of each fold: groups apart, labels alike."""
    cutter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=SEED)
    labels, groups = [row.label for row in rows], [row.example.group for row in rows]
    return [
        ([rows[index] for index in train], [rows[index] for index in test])
        for train, test in cutter.split(np.zeros(len(rows)), labels, groups)
    ]


def _key(head: str, setting: str, fold: int, n_rows: int, options: argparse.Namespace) -> dict[str, object]:
    of_data = {"sha256": sha256_file(options.data), "of_rows": n_rows}
    return {**of_data, "head": head, "setting": setting, "fold": fold, "folds": options.folds}


def _kept(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _print(
    rows: Sequence[SentimentRow], settings: Sequence[str], options: argparse.Namespace, kept: list[dict[str, object]]
) -> None:
    print(f"{options.data}: {len(rows)} rows, {options.folds} folds, seed {SEED}\n")
    print("| head | options | accuracy | its range over folds | macro-F1 | majority | CPU seconds a training |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for head in options.heads:
        for setting in settings:
            keys = [_key(head, setting, fold, len(rows), options) for fold in range(options.folds)]
            found = [row for key in keys for row in kept if key.items() <= row.items()]
            accuracy, macro, majority, seconds = (
                np.array([float(str(row[name])) for row in found])
                for name in ("accuracy", "macro_f1", "majority", "seconds")
            )
            print(
                f"| {head} | {setting or 'default'} | {accuracy.mean():.3f} | {accuracy.min():.3f} to "
                f"{accuracy.max():.3f} | {macro.mean():.3f} | {majority.mean():.3f} | {seconds.mean():.0f} |"
            )


if __name__ == "__main__":
    main()
