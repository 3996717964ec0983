from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder
from pipeline.errors import DataError
from pipeline.metric import evaluate
from pipeline.report import Report, build_report
from pipeline.report.attribution import REASONS
from pipeline.report.build import Analyst, explain_article, training_shares
from pipeline.report.curves import ALL
from pipeline.report.ladder import ROWS
from pipeline.report.slices import ENTITY_SLICES
from pipeline.schema import Article, Entity
from pipeline.submission import clean_names
from pipeline.workflow.predict_stream import predict_stream
from tests.support.command_line import TinyRun

KEYS = {
    *("schema_version", "run", "gold", "lang", "summary", "ladder", "attribution", "slices", "emotion"),
    *("recall_at_k", "threshold_curve", "learning_curve"),
}
OF_ARTICLES = {"topic", "length", "n_gold", "mixed_emotion"}


def test_summary_is_the_evaluation_of_the_upload_file(report: Report, run: RunFolder, gold: list[Article]) -> None:
    pred = {}
    for answer in predict_stream(run, gold, workers=1):
        kept = clean_names(entity.name for entity in answer.entities).kept
        pred[answer.news_id] = [Entity(name, answer.entities[index].emotion) for index, name in kept]
    want = evaluate({article.news_id: article.entities or () for article in gold}, pred)
    summary = report.figures["summary"]
    for name in ("entity_f1", "emotion_f1", "score"):
        low, high = want.intervals[name]
        assert summary[name] == pytest.approx({"value": getattr(want, name), "low": low, "high": high}, abs=1e-6)
    assert summary["micro"]["emotion_recall"] == pytest.approx(want.micro_emotion.recall, abs=1e-6)
    assert summary["emotion_accuracy_on_hits"]["n"] == want.n_hits
    real = report.figures["ladder"][0]
    assert {name: real[name] for name in ("entity_f1", "emotion_f1", "score")} == {
        name: summary[name] for name in ("entity_f1", "emotion_f1", "score")
    }


def test_the_figures_are_those_of_the_contract(report: Report, run: RunFolder, gold: list[Article]) -> None:
    figures = report.figures
    assert set(figures) == KEYS
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    assert figures["run"]["name"] == run.name
    assert figures["run"]["preset"] == "tiny"
    assert figures["gold"] == {
        "path": "gold.jsonl",
        "n_articles": len(gold),
        "n_gold": sum(len(article.entities or ()) for article in gold),
    }
    assert [row["key"] for row in figures["ladder"]] == [*ROWS]
    assert {row["slice"] for row in figures["slices"]} == {*OF_ARTICLES, *ENTITY_SLICES}
    assert figures["emotion"]["gold_targets"]["n"] == figures["gold"]["n_gold"]
    assert figures["emotion"]["predicted_targets"]["n"] == figures["attribution"]["n_hits"]
    assert figures["recall_at_k"][-1]["k"] == ALL


def test_the_preset_is_that_of_the_manifest_whatever_the_command(
    tiny_run: TinyRun, gold: list[Article], tmp_path: Path
) -> None:
    run = RunFolder(tiny_run.copy_to(tmp_path))
    command = ["run.py", "train", "--preset", "best", "--preset=fast"]
    for preset, shown in (("tiny", "tiny"), (None, "unknown")):
        run.finish(command=command, seed=7, threads=1, preset=preset)
        figures = build_report(run, gold[:1], workers=1).figures
        assert (figures["run"]["preset"], figures["run"]["mode"]) == (shown, "two_stage")
        assert figures["run"]["command"] == " ".join(command)


def test_sums_of_the_attribution_are_the_misses(report: Report) -> None:
    figures = report.figures["attribution"]
    views = list(report.views)
    missed = [row["reason"] for view in views for row in view["gold"] if row["reason"] is not None]
    assert sum(figures["missed"].values()) == figures["n_missed"] == len(missed)
    assert {reason: missed.count(reason) for reason in REASONS} == figures["missed"]
    hits = [row["is_right_emotion"] for view in views for row in view["gold"] if row["reason"] is None]
    assert figures["hits"] == {"right_emotion": hits.count(True), "wrong_emotion": hits.count(False)}
    assert figures["n_missed"] + figures["n_hits"] == figures["n_gold"] == report.figures["gold"]["n_gold"]
    spurious = [row for view in views for row in view["pred"] if not row["is_gold"]]
    assert figures["n_spurious"] == len(spurious)
    assert all(row["features"] for row in spurious)
    assert len(missed) == 3


def test_views_are_the_articles_in_order_with_places_in_their_texts(report: Report, gold: list[Article]) -> None:
    views = list(report.views)
    assert [view["id"] for view in views] == [article.news_id for article in gold]
    assert len(report) == len(gold)
    n_mentions = 0
    for view, article in zip(views, gold, strict=True):
        assert (view["title"], view["content"]) == (article.title, article.content)
        for row in chain(view["gold"], view["pred"]):
            for field, start, end in row["mentions"]:
                n_mentions += 1
                assert view[field][start:end] == row["entity"]
        assert {row["entity"] for row in view["gold"]} == {entity.name for entity in article.entities or ()}
        assert set(view["slices"]) >= OF_ARTICLES
    assert n_mentions > 100
    assert list(report.views) == views


def test_each_lost_entity_has_its_reason(report: Report) -> None:
    view = {view["id"]: view for view in report.views}["lost"]
    found = {row["entity"]: row for row in view["gold"]}
    assert found["从未出现"]["reason"] == "not_in_text"
    assert found["从未出现"]["mentions"] == []
    assert found["台超"]["reason"] == "not_candidate_segmentation"
    assert found["砚台超市"]["reason"] is None
    assert found["砚台超市"]["is_right_emotion"] is False
    assert view["slices"]["emotion"] == ["NEG", "NORM", "POS"]


def test_an_empty_article_has_an_empty_view(report: Report) -> None:
    view = {view["id"]: view for view in report.views}["empty"]
    assert view["gold"] == view["pred"] == view["next"] == []
    assert view["entity_f1"] == 1


def test_the_report_does_not_depend_on_workers(report: Report, run: RunFolder, gold: list[Article]) -> None:
    again = build_report(run, gold, workers=2, gold_path="gold.jsonl")
    assert again.figures == report.figures
    assert list(again.views) == list(report.views)


def test_of_articles_with_one_id_the_first_counts(run: RunFolder, gold: list[Article]) -> None:
    first, last = gold[0], gold[-2]
    twice = [Article("same", article.title, article.content, article.entities) for article in (first, last)]
    built = build_report(run, twice, workers=1)
    assert [view["title"] for view in built.views] == [first.title]


def test_training_shares_are_those_of_the_training_entities(run: RunFolder, tiny_articles: list[Article]) -> None:
    emotions = [entity.emotion for article in tiny_articles for entity in article.entities or ()]
    want = [emotions.count(emotion) / len(emotions) for emotion in ("POS", "NORM", "NEG")]
    assert training_shares(run).tolist() == pytest.approx(want)


def test_shares_are_equal_where_a_run_has_no_table_of_emotions(tmp_path: Path) -> None:
    assert training_shares(RunFolder(tmp_path)).tolist() == pytest.approx([1 / 3] * 3)


def test_no_article_is_an_error(run: RunFolder) -> None:
    with pytest.raises(DataError, match="no gold article"):
        build_report(run, [], workers=1)


def test_features_are_the_strongest_contributions(analyst: Analyst, gold: list[Article]) -> None:
    trace = analyst.predictor.trace(gold[:1])[0]
    view = analyst.analyse(gold[:1])[0][1]
    shap = analyst.predictor.contributions(trace.ranked, trace.ranked.chosen)
    for row, values in zip(view["pred"], shap, strict=True):
        strengths = [abs(item["shap"]) for item in row["features"]]
        assert strengths == sorted(strengths, reverse=True)
        assert strengths[0] == pytest.approx(abs(values).max(), abs=1e-4)
        by_name = dict(zip(trace.ranked.names, values, strict=True))
        assert all(item["shap"] == pytest.approx(by_name[item["name"]], abs=1e-4) for item in row["features"])


def test_explaining_an_article_needs_no_labels(run: RunFolder, gold: list[Article]) -> None:
    article = gold[0]
    blind = explain_article(run, Article(article.news_id, article.title, article.content))
    known = explain_article(run, article)
    assert blind["gold"] == []
    assert [row["entity"] for row in blind["pred"]] == [row["entity"] for row in known["pred"]]
    assert known["gold"]
    for view in (blind, known):
        assert all(row["features"] and row["mentions"] for row in view["next"])
