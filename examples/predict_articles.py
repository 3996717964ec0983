"""Answers articles with a trained run, from Python: one by one, and as a stream with its score.

    python run.py train --train data/sample/train.jsonl --preset tiny --run first
    python examples/predict_articles.py first data/sample/test.jsonl

(In a checkout where the package is not installed by ``pip install .``, put ``PYTHONPATH=.`` before it.)

The first argument is a run under models/ or the path of a run folder, the second a file of articles; where they are
labelled, the score is printed too.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pipeline


def main(run_name: str, file: Path) -> None:
    """Print the answer to an article written here, then a line for each article of the file."""
    run = pipeline.load_run(run_name)

    answer = run.predict({"title": "云杉汽车发布新款电动车", "content": "云杉汽车昨天发布新车，续航令人满意。"})
    for entity in answer.entities:
        print(f"{entity.name}: {entity.emotion} ({max(entity.probs):.2f}), named {len(entity.mentions)} times")

    predictions = []
    for prediction in run.stream(pipeline.read_articles(file)):  # holds a few articles at a time
        predictions.append(prediction)
        names = ", ".join(f"{entity.name} {entity.emotion}" for entity in prediction.entities)
        print(f"{prediction.news_id}: {names or 'no entity'}")

    articles = list(pipeline.read_articles(file))
    if all(article.entities is not None for article in articles):
        print(f"score: {pipeline.evaluate(articles, predictions).score:.4f}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except pipeline.PipelineError as error:
        raise SystemExit(f"error: {error}") from error
