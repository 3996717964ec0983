"""Out-of-fold score of a run on some of the files it was trained on; or what another run gains over it.

python -m benchmarks.out_of_fold --run mine --gold ../shared/data/sohu2019/train.jsonl [--other theirs]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pipeline.artifacts import open_run
from pipeline.data.read import iter_articles
from pipeline.metric import format_evaluation, paired_difference
from pipeline.workflow.out_of_fold import gold_by_key, out_of_fold_predictions, score_out_of_fold
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.script import as_read

MODELS = Path("models")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the same table as ``run.py evaluate``, or paired differences with 95 % bootstrap intervals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--other", help="a run on the same files, to be compared with the first")
    parser.add_argument("--gold", type=Path, required=True, action="append", help="may be given several times")
    options = parser.parse_args(arguments)
    run = open_run(MODELS, options.run)
    gold = [article for path in options.gold for article in iter_articles(path, labelled=True)]
    articles = as_read(gold, load_run_config(run.config))
    if not options.other:
        print(format_evaluation(score_out_of_fold(run, articles)))
        return
    other = open_run(MODELS, options.other)
    differences = paired_difference(gold_by_key(articles), out_of_fold_predictions(run), out_of_fold_predictions(other))
    print(f"{other.name} over {run.name}, {len(articles)} articles\n")
    print("| figure | gain | 95 % interval | resamples in which it is better |\n| --- | --- | --- | --- |")
    for figure, found in differences.items():
        print(f"| {figure} | {found.delta:+.4f} | {found.low:+.4f} to {found.high:+.4f} | {found.share_better:.3f} |")


if __name__ == "__main__":
    main()
