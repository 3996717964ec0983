"""Out-of-fold score of a run on some of the files it was trained on.

python -m benchmarks.out_of_fold --run mine --gold ../shared/data/sohu2019/train.jsonl
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pipeline.artifacts import open_run
from pipeline.metric import format_evaluation
from pipeline.read import iter_articles
from pipeline.workflow.out_of_fold import score_out_of_fold


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the same table as ``run.py evaluate``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--gold", type=Path, required=True, action="append", help="may be given several times")
    options = parser.parse_args(arguments)
    articles = [article for path in options.gold for article in iter_articles(path, labelled=True)]
    print(format_evaluation(score_out_of_fold(open_run(Path("models"), options.run), articles)))


if __name__ == "__main__":
    main()
