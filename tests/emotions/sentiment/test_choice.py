"""The baseline is measured always, and answers only if it was asked for."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import Config, SentimentConfig
from pipeline.config.emotions import AND, BASELINE
from pipeline.emotions.sentiment import Scores, SentimentStage, make_target
from pipeline.emotions.sentiment.choice import best_row, contenders, measured, no_better, plan, table_rows
from pipeline.schema import Article, Emotion, Target
from pipeline.text import Document

NAMES = ("majority", "tfidf", "tfidf_nb", "ian", "af_lstm")


def scores(member: str, accuracy: float) -> Scores:
    return Scores(member, accuracy, 0.0, {}, 0.0, 0.0, 0.0)


@st.composite
def options(draw: st.DrawFn) -> SentimentConfig:
    members = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    named = st.lists(st.sampled_from([BASELINE, *members]), min_size=1, unique=True).map(AND.join)
    return SentimentConfig(members=members, choose=draw(st.just("auto") | named))


@given(options(), st.data())
def test_the_baseline_answers_only_if_asked(asked: SentimentConfig, data: st.DataObject) -> None:
    rows = table_rows(asked)
    assert rows[0] == measured(asked)[0] == BASELINE
    assert len(set(rows)) == len(rows)
    assert {name for row in rows for name in row.split(AND)} <= set(measured(asked))
    table = [scores(row, data.draw(st.floats(0, 1))) for row in rows]
    answers = best_row(table, contenders(asked)).member
    is_asked = BASELINE in asked.choose.split(AND) or asked.members == [BASELINE]
    assert (BASELINE in answers.split(AND)) is is_asked
    if asked.choose != "auto":
        assert answers == asked.choose
    elif not is_asked:
        best = max(row.accuracy for row in table[1:])
        assert answers == next(row.member for row in table[1:] if row.accuracy == best)


@pytest.mark.parametrize(
    ("members", "choose", "lines"),
    [
        (
            ["ian", "af_lstm"],
            "auto",
            [
                "emotion members: ian, af_lstm; majority is measured beside them",
                "emotions are answered by: the best out-of-fold of ian, af_lstm, ian+af_lstm (sentiment.choose=auto)",
            ],
        ),
        (["majority", "ian"], "auto", ["emotion members: majority, ian", "emotions are answered by: ian"]),
        (["majority"], "auto", ["emotion members: majority", "emotions are answered by: majority"]),
        (
            ["ian", "tfidf"],
            "ian+tfidf",
            [
                "emotion members: ian, tfidf; majority is measured beside them",
                "emotions are answered by: ian+tfidf (sentiment.choose)",
            ],
        ),
    ],
)
def test_the_plan_names_what_will_answer(members: list[str], choose: str, lines: list[str]) -> None:
    assert plan(SentimentConfig(members=members, choose=choose)) == lines


def test_the_warning_has_both_figures() -> None:
    baseline = scores("majority", 0.55)
    assert no_better(scores("ian", 0.5501), baseline, n_examples=640) is None
    assert no_better(baseline, baseline, n_examples=640) is None
    found = no_better(scores("ian", 0.45), baseline, n_examples=640)
    assert found is not None
    assert "ian answers and is no better than" in found
    assert "accuracy 0.4500, majority 0.5500, 64 fewer of 640 entities right" in found
    assert "0 fewer of 640" in str(no_better(scores("ian", 0.55), baseline, n_examples=640))


def noise(number: int) -> Target:
    """An entity of which the text says nothing."""
    emotion = Emotion.POS if number % 4 else Emotion.NEG
    article = Article(f"n{number:03d}", "松果茶社", f"松果茶社{'字' * (1 + number % 5)}。")
    return make_target(Document.of(article), "松果茶社", max_chars=40, emotion=emotion)


@pytest.mark.parametrize(("choose", "answers"), [("auto", "tfidf"), ("majority", "majority")])
def test_a_stage_with_nothing_to_learn_from_warns(
    choose: str, answers: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    examples = [noise(number) for number in range(36)]
    folds = {item.group: index // 3 % 3 for index, item in enumerate(examples)}
    config = Config(workers=1, sentiment=SentimentConfig(members=["tfidf"], choose=choose, max_context_chars=40))
    with caplog.at_level(logging.WARNING):
        stage = SentimentStage(config).fit(examples, folds, folder=tmp_path)
    assert [row.member for row in stage.table_] == ["majority", "tfidf"]
    assert stage.table_[0].accuracy >= stage.table_[1].accuracy
    assert stage.chosen_ == answers
    assert [*stage.models_] == [answers]
    np.testing.assert_allclose(stage.predict(examples[:4]).sum(axis=1), 1)
    warned = [message for message in caplog.messages if "no better than" in message]
    assert len(warned) == (answers != "majority")
