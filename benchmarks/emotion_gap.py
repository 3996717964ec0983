"""Emotion accuracy of a run on gold entities and on the entities it finds itself, and the difference.

    python -m benchmarks.emotion_gap --run mine --gold ../shared/data/sohu2019/test.jsonl

The gold file must not have been trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from pipeline.artifacts import atomic_write_json, open_run
from pipeline.data.read import iter_articles
from pipeline.schema import Article, Prediction
from pipeline.workflow.emotion_gap import emotion_gap, format_gap
from pipeline.workflow.predict import Predictor, predict_stream

MODELS = Path("models")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/, or its folder; the newest by default")
    parser.add_argument("--gold", type=Path, required=True, action="append", help="may be given several times")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the counts")
    options = parser.parse_args(arguments)
    articles = [article for path in options.gold for article in iter_articles(path, labelled=True)]
    folder = Path(options.run or "")
    run = open_run(folder.parent, folder.name) if options.run and folder.is_dir() else open_run(MODELS, options.run)
    predictor = Predictor.load(run.path)
    if predictor.sentiment is None:
        parser.error(f"run {run.name} (mode {predictor.config.mode}) has no second stage")

    def predict(blind: Sequence[Article]) -> Sequence[Prediction]:
        stream = predict_stream(run, blind, workers=options.workers)
        return list(tqdm(stream, total=len(blind), desc="predict", unit="article", disable=None))

    gap = emotion_gap(
        articles,
        predict=predict,
        sentiment=predictor.sentiment,
        max_context_chars=predictor.config.sentiment.max_context_chars,
    )
    print(f"{run.name}, {len(articles)} articles\n\n{format_gap(gap)}")
    if options.json:
        atomic_write_json(options.json, asdict(gap))


if __name__ == "__main__":
    main()
