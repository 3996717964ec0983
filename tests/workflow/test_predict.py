"""What the predictor tells of its stages; the answers themselves are tested end to end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.data.read import iter_articles
from pipeline.emotions.sentiment.contexts import WeightedSpan
from pipeline.entities.candidates import Source
from pipeline.schema import EMOTIONS, Article
from pipeline.text import match_key
from pipeline.workflow.predict import Predictor
from pipeline.workflow.traces import in_document
from tests.support.command_line import TinyRun


@pytest.fixture(scope="module")
def predictor(tiny_run: TinyRun) -> Predictor:
    return Predictor.load(tiny_run.path)


@pytest.fixture(scope="module")
def articles(tiny_data: Path) -> list[Article]:
    return [*iter_articles(tiny_data / "test.jsonl", labelled=True), Article("empty", "", "")]


def test_a_trace_holds_what_each_stage_made(predictor: Predictor, articles: list[Article]) -> None:
    traces = predictor.trace(articles)
    assert [trace.prediction for trace in traces] == predictor.predict(articles)
    for trace, article in zip(traces, articles, strict=True):
        [alone] = predictor.trace([article])
        ranked = trace.ranked
        assert trace.offered.keys == alone.offered.keys
        assert ranked.candidates.keys == alone.ranked.candidates.keys
        assert ranked.probs.tolist() == alone.ranked.probs.tolist()
        assert set(ranked.candidates.keys) <= set(trace.offered.keys)
        assert ranked.chosen == ranked.order[: len(ranked.chosen)]
        assert sorted(ranked.probs[ranked.order], reverse=True) == ranked.probs[ranked.order].tolist()
        assert [entity.score for entity in trace.prediction.entities] == ranked.probs[ranked.chosen].tolist()


def test_emotions_of_the_answer_are_those_of_its_names(predictor: Predictor, articles: list[Article]) -> None:
    traces = predictor.trace(articles)
    names = [[entity.name for entity in trace.prediction.entities] for trace in traces]
    for trace, probs in zip(traces, predictor.emotions(traces, names), strict=True):
        assert probs.shape == (len(trace.prediction.entities), len(EMOTIONS))
        want = np.array([entity.probs for entity in trace.prediction.entities]).reshape(-1, 3)
        assert probs == pytest.approx(want)
    assert predictor.emotions([], []) == []


def test_ranking_again_with_further_names(predictor: Predictor) -> None:
    article = Article("a1", "砚台超市开业", "砚台超市今天开业，很好。")
    trace = predictor.trace([article])[0]
    assert "台超" not in trace.offered.keys
    ranked = predictor.rank_with(trace, [match_key("台超"), "不在文中"], Source.WORDS)
    assert set(ranked.candidates.keys) == {*trace.ranked.candidates.keys, "台超"}
    row = ranked.candidates.keys.index("台超")
    assert ranked.candidates.sources[row] == Source.WORDS
    assert ranked.candidates.counts[row] == 2
    assert len(ranked.probs) == len(ranked.candidates)
    assert predictor.rank_with(trace, trace.ranked.candidates.keys[:2], Source.WORDS) is trace.ranked


def test_contributions_add_up_to_the_score(predictor: Predictor, articles: list[Article]) -> None:
    ranked = predictor.trace(articles[:1])[0].ranked
    rows = range(len(ranked.candidates))
    shap = predictor.contributions(ranked, rows)
    assert shap.shape == ranked.matrix.shape
    # What is left is the trees' expected score, the same for every candidate.
    rest = predictor.finder.stage.model_.score(ranked.matrix) - shap.sum(axis=1)
    assert rest == pytest.approx(np.full(len(rest), rest[0]))
    assert predictor.contributions(ranked, []).shape == (0, ranked.matrix.shape[1])


def test_other_models_than_heads_have_no_attention(predictor: Predictor, articles: list[Article]) -> None:
    assert predictor.sentiment.chosen_ == "tfidf"  # what the tiny run chooses
    assert predictor.attention(predictor.trace(articles[:1])[0]) == []


def test_spans_of_a_context_move_to_the_document() -> None:
    origin = [(0, 0, 4), (5, 20, 6)]
    spans = [WeightedSpan(0, 2, 0.5), WeightedSpan(3, 4, 0.1), WeightedSpan(4, 5, 0.1), WeightedSpan(6, 8, 0.3)]
    assert in_document(spans, origin) == [(0, 2, 0.5), (3, 4, 0.1), (21, 23, 0.3)]
