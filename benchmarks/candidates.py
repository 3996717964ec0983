"""Candidate recall of a run on a labelled file: by source, before and after pruning, and at k after ranking.

python -m benchmarks.candidates --run mine --gold ../shared/data/sohu2019/test.jsonl
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from pipeline.artifacts import open_run
from pipeline.data.read import iter_articles
from pipeline.entities.candidates import Source
from pipeline.entities.features.extract import gold_keys
from pipeline.workflow.predict import Predictor

DEPTHS = (1, 2, 3, 5, 10, 20, 50)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--gold", type=Path, required=True)
    options = parser.parse_args(arguments)
    predictor = Predictor.load(open_run(Path("models"), options.run).path)
    articles = list(iter_articles(options.gold, labelled=True))
    found: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    n_offered = n_gold = 0
    for article in tqdm(articles, disable=None):
        gold = gold_keys(article)
        n_gold += len(gold)
        [trace] = predictor.trace([article])
        offered, kept = trace.offered, trace.ranked.candidates
        n_offered += len(offered)
        found["any source"] += len(gold & set(offered.keys))
        for key, bits in zip(offered.keys, offered.sources.tolist(), strict=True):
            if key in gold:
                sources = [source.name for source in Source if bits & source]
                found.update(str(source) for source in sources)
                alone.update(str(source) for source in sources if len(sources) == 1)
        found["after pruning"] += len(gold & set(kept.keys))
        for depth in DEPTHS:
            found[f"at {depth}"] += len(gold & {kept.keys[row] for row in trace.ranked.order[:depth]})
    print(f"{len(articles)} articles, {n_gold} gold entities, {n_offered / len(articles):.0f} candidates per article\n")
    print("| candidates | recall | gold entities found by this source alone |\n| --- | --- | --- |")
    rows = ["any source", *(str(source.name) for source in Source), "after pruning", *(f"at {k}" for k in DEPTHS)]
    for row in rows:
        only = str(alone[row]) if row in Source.__members__ else ""
        print(f"| {row} | {found[row] / n_gold:.3f} | {only} |")


if __name__ == "__main__":
    main()
