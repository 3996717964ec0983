"""A feature of your own for the reranker: a group of columns, and what it says of an article's candidates.

    python examples/own_feature.py

(In a checkout where the package is not installed by ``pip install .``, put ``PYTHONPATH=.`` before it.)

A group is a function from the candidates of one article to named columns, a value per candidate; NaN where it does not
apply. Appended to GROUPS it counts in whatever this process trains (with ``workers=1``: other processes import the
package anew). To keep it in the project, put the function into pipeline/entities/features/groups.py with a hand-worked
test. Runs trained before do not know the column, and must be trained again.
"""

from __future__ import annotations

import numpy as np

import pipeline
from pipeline.config import CandidateConfig
from pipeline.entities.candidates import CandidateGenerator
from pipeline.entities.features.context import Columns, FeatureContext
from pipeline.entities.features.extract import static_features
from pipeline.entities.features.groups import GROUPS
from pipeline.text import Document, default_segmenter

ARTICLE = pipeline.Article(
    "1", "云杉汽车要求退款？", "云杉汽车要求退款！车主说：“太慢了！”青禾科技没有回应。车主还在等云杉汽车。"
)


def shouting(context: FeatureContext) -> Columns:
    """How often the candidate stands in a sentence that ends in an exclamation mark."""
    ends = np.array([stop for _, stop in context.document.sentences])
    loud = np.array([context.document.text[stop - 1] == "!" for stop in ends])
    return {
        "loud_tf": context.per_candidate_sum(loud[context.sentence]),
        "loud_share": context.per_candidate_share(loud[context.sentence]),
    }


def main() -> None:
    """Print the columns of the new group for the most frequent candidates."""
    GROUPS.append(shouting)
    segmenter = default_segmenter()
    generator = CandidateGenerator(CandidateConfig(), segmenter=segmenter)
    features = static_features(generator.generate(Document.of(ARTICLE)), segmenter)

    columns = [features.names.index(name) for name in ("counts.tf", "shouting.loud_tf", "shouting.loud_share")]
    rows = sorted(zip(features.candidates.keys, features.matrix[:, columns], strict=True), key=lambda row: -row[1][0])
    for key, (tf, loud_tf, loud_share) in rows[:4]:
        print(f"{key}: {tf:.0f} times, {loud_tf:.0f} of them loud ({loud_share:.2f})")


if __name__ == "__main__":
    main()
