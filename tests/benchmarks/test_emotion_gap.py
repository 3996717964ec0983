"""The gap between given and found entities, by hand and on a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.emotion_gap import EmotionCounts, EmotionGap, emotion_gap, format_gap, main
from pipeline.data.read import iter_articles
from pipeline.errors import DataError
from pipeline.metric import evaluate
from pipeline.schema import EMOTIONS, Article, ChosenEntity, Emotion, Entity, Prediction, Target
from pipeline.workflow.predict import Predictor
from tests.support.command_line import TinyRun

POS, NORM, NEG = EMOTIONS
ARTICLES = [
    Article("a", "云杉与青禾", "云杉很好。青禾很差。", (Entity("云杉", POS), Entity("青禾", NEG))),
    Article("b", "砚台", "砚台一般。", (Entity("砚台", NORM),)),
]


class Praise:
    """Answers POS for every target."""

    def predict(self, examples: Sequence[Target]) -> np.ndarray:
        return np.tile([0.8, 0.1, 0.1], (len(examples), 1))


def answer(*found: tuple[str, list[tuple[str, Emotion]]]) -> list[Prediction]:
    return [
        Prediction(news_id, tuple(ChosenEntity(name, emotion, 0.9, (0.8, 0.1, 0.1)) for name, emotion in entities))
        for news_id, entities in found
    ]


def gap_of(predictions: list[Prediction]) -> EmotionGap:
    def predict(articles: Sequence[Article]) -> list[Prediction]:
        assert all(article.entities is None for article in articles), "labels must be hidden"
        return predictions

    return emotion_gap(ARTICLES, predict=predict, sentiment=Praise(), max_context_chars=50)  # type: ignore[arg-type]


def test_gap_by_hand() -> None:
    gap = gap_of(answer(("a", [("云杉", NEG), ("青禾", NEG), ("蓝湖", POS)]), ("b", [])))
    assert gap.gold == EmotionCounts(3, 1, 1)
    assert gap.gold_hits == EmotionCounts(2, 1, 1)
    assert gap.gold_missed == EmotionCounts(1, 0, 0)
    assert gap.hits == EmotionCounts(2, 1, 1)
    assert gap.gap == pytest.approx(1 / 3 - 1 / 2)
    assert gap.selection == pytest.approx(1 / 3 - 1 / 2)
    assert gap.drop == pytest.approx(0)
    assert "gap, gold less predicted: -0.1667 (other targets -0.1667, found instead of given +0.0000)" in format_gap(
        gap
    )


def test_nothing_found_leaves_the_gap_open() -> None:
    gap = gap_of(answer(("a", []), ("b", [])))
    assert (gap.gap, gap.hits.accuracy) == (None, None)
    assert "predicted entities that are gold            -        -        0" in format_gap(gap)


def test_articles_without_entities_are_refused() -> None:
    with pytest.raises(DataError, match="no gold article names an entity"):
        emotion_gap([], predict=lambda _: [], sentiment=Praise(), max_context_chars=50)  # type: ignore[arg-type]


def test_gap_of_a_run_agrees_with_the_metric(
    tiny_run: TinyRun, tiny_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = tiny_data / "test.jsonl"
    articles = list(iter_articles(gold, labelled=True))
    predictor = Predictor.load(tiny_run.path)
    gap = emotion_gap(
        articles,
        predict=predictor.predict,
        sentiment=predictor.sentiment,
        max_context_chars=predictor.config.sentiment.max_context_chars,
    )
    answers = {
        item.news_id: [Entity(entity.name, entity.emotion) for entity in item.entities]
        for item in predictor.predict([Article(a.news_id, a.title, a.content) for a in articles])
    }
    scores = evaluate({a.news_id: a.entities or () for a in articles}, answers, n_resamples=0)
    assert scores.n_hits == gap.hits.n_targets > 0
    assert gap.hits.accuracy == pytest.approx(scores.emotion_accuracy)
    assert gap.hits.all_pos_accuracy == pytest.approx(scores.all_pos_accuracy)
    main(["--run", str(tiny_run.path), "--gold", str(gold)])
    assert format_gap(gap) in capsys.readouterr().out
