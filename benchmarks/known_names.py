"""Entity F1 apart for articles with a gold name that is gold in training too, and for articles without one.

    python -m benchmarks.known_names --submission submissions/first.txt

A ranker that has learnt too much of names does well on the former alone; one that has learnt to mistrust names it has
seen fails there. The files of data/sample are taken unless others are named.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.data.read import iter_articles
from pipeline.entities.features.extract import gold_keys
from pipeline.metric import entity_f1
from pipeline.schema import Article, Entity
from pipeline.submission import read_submission
from pipeline.text import match_key

SAMPLE = Path("data/sample")


@dataclass
class Half:
    """Articles on one side of the split, as counted so far."""

    f1s: list[float] = field(default_factory=list)
    """Entity F1 per article."""
    n_gold: int = 0
    n_hits: int = 0

    @property
    def f1(self) -> float:
        """Mean entity F1, NaN without articles."""
        return sum(self.f1s) / len(self.f1s) if self.f1s else float("nan")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submission", type=Path, required=True, help="upload file of a run")
    parser.add_argument("--gold", type=Path, default=SAMPLE / "test.jsonl")
    parser.add_argument(
        "--train", type=Path, action="append", help="what the run was trained on (repeatable; the sample's by default)"
    )
    options = parser.parse_args(arguments)
    files = options.train or [SAMPLE / "train.jsonl"]
    known = {key for path in files for article in iter_articles(path, labelled=True) for key in gold_keys(article)}
    halves = split(iter_articles(options.gold, labelled=True), read_submission(options.submission), known)
    print(
        "| articles whose gold names | articles | entity F1 | gold entities | found |\n| --- | --- | --- | --- | --- |"
    )
    for label, half in zip(("include one known from training", "are all new"), halves, strict=True):
        print(f"| {label} | {len(half.f1s)} | {half.f1:.3f} | {half.n_gold} | {half.n_hits} |")


def split(
    articles: Iterable[Article], answers: Mapping[str, Collection[Entity]], known: Collection[str]
) -> tuple[Half, Half]:
    """Return the counts of articles with a gold name in ``known`` (match keys), and of the others.

    An article without an answer counts as an empty answer.
    """
    with_known, without = Half(), Half()
    for article in articles:
        half = without if gold_keys(article).isdisjoint(known) else with_known
        gold = [entity.name for entity in article.entities or ()]
        found = [entity.name for entity in answers.get(article.news_id, ())]
        half.f1s.append(entity_f1(gold, found))
        half.n_gold += len(gold)
        half.n_hits += len({match_key(name) for name in found} & gold_keys(article))
    return with_known, without


if __name__ == "__main__":
    main()
