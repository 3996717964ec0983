"""Pictures of attention: each head that has one, trained on the sample, looks at an article of its test file.

    python -m benchmarks.attention_figure --out docs

writes attention_HEAD.svg for the first entity of the article, and prints the same in colour. The heads are trained on
the 130 invented articles of data/sample: the pictures show what attention looks like, not how good a head can be.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pipeline.artifacts import atomic_write_text
from pipeline.config import load_config
from pipeline.data.formats.sentiment import SentimentRow
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.errors import ConfigError, DataError
from pipeline.schema import EMOTIONS
from pipeline.standalone.heads.attention_view import attention_svg, attention_text
from pipeline.standalone.heads.rows import read_rows

SAMPLE = Path("data/sample")
ARTICLE = "a20b91d4"
"""Praises one telephone and not the other."""
HEADS = ("at_lstm", "atae_lstm", "af_lstm", "ian", "han")
OWN = (
    *("training.max_epochs=30", "training.patience=30", "training.batch_size=16"),
    "head.dropout=0.2",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the heads and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the pictures")
    parser.add_argument("--heads", nargs="+", default=list(HEADS), metavar="NAME")
    parser.add_argument("--article", default=ARTICLE, help="newsId in the test file")
    parser.add_argument("--entity", help="of the article; the first by default")
    parser.add_argument("--train", type=Path, default=SAMPLE / "train.jsonl")
    parser.add_argument("--dev", type=Path, default=SAMPLE / "dev.jsonl")
    parser.add_argument("--test", type=Path, default=SAMPLE / "test.jsonl")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    config = load_config(preset="cpu", overrides=[*OWN, *options.overrides])
    train, dev, test = (
        read_rows(path, max_context_chars=config.sentiment.max_context_chars).rows
        for path in (options.train, options.dev, options.test)
    )
    row = _choose(test, options.article, options.entity)
    example = row.example
    for name in options.heads:
        model = HeadClassifier(name, config, classes=EMOTIONS, seed=config.seed)
        model.fit(*_columns(train), *_columns(dev))
        weights = model.attention([example])
        if weights is None:
            raise ConfigError(f"head {name} has no attention (have: {', '.join(HEADS)})")
        answer = EMOTIONS[int(model.predict_proba([example]).argmax())]
        title = f"{name}: {example.name} is {answer}, gold {row.label}"
        place = (example.start, example.stop)
        path = options.out / f"attention_{name}.svg"
        atomic_write_text(path, attention_svg(example.text, weights[0].tolist(), target=place, title=title))
        print(f"{path}\n{title}\n{attention_text(example.text, weights[0].tolist(), target=place, width=80)}\n")


def _columns(rows: Sequence[SentimentRow]) -> tuple[list, list[str]]:
    return [row.example for row in rows], [row.label for row in rows]


def _choose(rows: Sequence[SentimentRow], news_id: str, entity: str | None) -> SentimentRow:
    found = [row for row in rows if row.where.endswith(f" {news_id}") and entity in (None, row.example.name)]
    if not found:
        raise DataError(f"the test file has no article {news_id} with an entity {entity or ''}".rstrip())
    return found[0]


if __name__ == "__main__":
    main()
