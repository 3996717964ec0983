"""Emotion accuracy of a run on gold entities and on the entities it finds itself, and the difference.

Heads are trained on gold targets and used on predicted ones: this is what that costs.

    python -m benchmarks.emotion_gap --run mine --gold ../shared/data/sohu2019/test.jsonl

The gold file must not have been trained on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from pipeline.artifacts import atomic_write_json, open_run
from pipeline.data.read import iter_articles
from pipeline.emotions.sentiment import SentimentStage, gold_targets
from pipeline.emotions.sentiment.scores import likeliest
from pipeline.errors import DataError
from pipeline.schema import Article, Emotion, Prediction
from pipeline.text import Document
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import predict_stream

MODELS = Path("models")


@dataclass(frozen=True, slots=True)
class EmotionCounts:
    """Answers to some targets. Figures are None where there is no target."""

    n_targets: int
    n_right: int
    n_pos: int
    """Targets whose gold emotion is POS: what answering POS always would get right."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[Emotion, Emotion]]) -> EmotionCounts:
        """Count pairs of answer and gold."""
        pairs = list(pairs)
        return cls(
            len(pairs), sum(answer == gold for answer, gold in pairs), sum(gold is Emotion.POS for _, gold in pairs)
        )

    @property
    def accuracy(self) -> float | None:
        """Share of the targets that is right."""
        return self.n_right / self.n_targets if self.n_targets else None

    @property
    def all_pos_accuracy(self) -> float | None:
        """Accuracy of answering POS always."""
        return self.n_pos / self.n_targets if self.n_targets else None


@dataclass(frozen=True, slots=True)
class EmotionGap:
    """Emotion accuracy with gold entities given, and with those that stage one found.

    The second is measured on hits alone, so the two are of different targets. ``gold_hits`` tells what is due to that:
    the same targets as the hits, their emotions answered with the gold names given.
    """

    gold: EmotionCounts
    """Every gold entity, given."""
    gold_hits: EmotionCounts
    """The gold entities that stage one found, given."""
    gold_missed: EmotionCounts
    """The gold entities that stage one did not find, given."""
    hits: EmotionCounts
    """The entities that stage one found, with the emotion of the answer."""

    @property
    def gap(self) -> float | None:
        """Accuracy on gold entities, less that on hits."""
        return _difference(self.gold.accuracy, self.hits.accuracy)

    @property
    def selection(self) -> float | None:
        """The part of the gap that is due to other targets: found entities are easier (below zero) or harder."""
        return _difference(self.gold.accuracy, self.gold_hits.accuracy)

    @property
    def drop(self) -> float | None:
        """The rest: the same targets, once given and once found."""
        return _difference(self.gold_hits.accuracy, self.hits.accuracy)


def emotion_gap(
    articles: Sequence[Article],
    *,
    predict: Callable[[Sequence[Article]], Sequence[Prediction]],
    sentiment: SentimentStage,
    max_context_chars: int,
) -> EmotionGap:
    """Answer the emotions of the gold entities, and those of the predicted ones that are gold.

    Args:
        articles: labelled; their labels are hidden from ``predict``.
        predict: as of a ``Predictor``.
        sentiment: stage two of the same run.
        max_context_chars: as in the run.

    Raises:
        DataError: no article has an entity.
    """
    targets = gold_targets(map(Document.of, articles), max_chars=max_context_chars)
    if not targets:
        raise DataError("no gold article names an entity")
    answers = likeliest(sentiment.predict(targets))
    blind = [Article(item.news_id, item.title, item.content, truncated=item.truncated) for item in articles]
    found = {
        (prediction.news_id, entity.name.strip()): entity.emotion
        for prediction in predict(blind)
        for entity in prediction.entities
    }
    keys = [(target.group, target.name.strip()) for target in targets]
    gold = [target.emotion for target in targets if target.emotion is not None]
    given = list(zip(keys, answers, gold, strict=True))
    return EmotionGap(
        gold=EmotionCounts.of((answer, truth) for _, answer, truth in given),
        gold_hits=EmotionCounts.of((answer, truth) for key, answer, truth in given if key in found),
        gold_missed=EmotionCounts.of((answer, truth) for key, answer, truth in given if key not in found),
        hits=EmotionCounts.of((found[key], truth) for key, _, truth in given if key in found),
    )


def format_gap(gap: EmotionGap) -> str:
    """Lay the figures out as a short plain-text table."""
    lines = [f"{'emotion accuracy on':<36}{'accuracy':>9}{'all POS':>9}{'targets':>9}"]
    for name, counts in (
        ("gold entities, given", gap.gold),
        ("  found by stage one", gap.gold_hits),
        ("  missed by stage one", gap.gold_missed),
        ("predicted entities that are gold", gap.hits),
    ):
        figures = f"{_figure(counts.accuracy):>9}{_figure(counts.all_pos_accuracy):>9}"
        lines.append(f"{name:<36}{figures}{counts.n_targets:>9}")
    lines += [
        "",
        f"gap, gold less predicted: {_figure(gap.gap, sign='+')}"
        f" (other targets {_figure(gap.selection, sign='+')}, found instead of given {_figure(gap.drop, sign='+')})",
    ]
    return "\n".join(lines)


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _figure(value: float | None, *, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4f}"


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
