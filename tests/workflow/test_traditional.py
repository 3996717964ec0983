"""Articles in traditional script: a run that reads them as simplified ones answers with slices of what they hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from opencc import OpenCC

from pipeline.artifacts import RunFolder, read_json
from pipeline.config import Config, SentimentConfig, load_config
from pipeline.data.read import iter_articles
from pipeline.errors import ConfigError
from pipeline.report.build import analyse_stream
from pipeline.schema import Article, Entity, Prediction
from pipeline.standalone.heads.compare import load_comparison
from pipeline.standalone.heads.train_saved import HeadTraining, train_head
from pipeline.standalone.matching.matcher import MatchTraining, train_matcher
from pipeline.standalone.tagging.training import TagTraining, train_tagger
from pipeline.text.simplify import converter, to_simplified
from pipeline.workflow.dry_run import plan_training
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import predict_stream
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest
from pipeline.workflow.transfer import read_others
from pipeline.workflow.tune.data import load_run_data
from tests.support.command_line import Done, TinyRun, TinyRuns

OPTION = "text.to_simplified=true"
to_traditional: Callable[[str], str] = OpenCC("s2t").convert


def in_traditional(article: Article) -> Article:
    """Return the article in traditional script; of the tiny articles nothing is lost by that."""
    found = replace(
        article,
        title=to_traditional(article.title),
        content=to_traditional(article.content),
        entities=tuple(Entity(to_traditional(entity.name), entity.emotion) for entity in article.entities or ()),
    )
    assert to_simplified(found.title + found.content) == article.title + article.content
    assert found.title + found.content != article.title + article.content
    return found


def written(articles: list[Article], path: Path) -> Path:
    """Write labelled articles as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for article in articles:
            labels = [{"entity": one.name, "emotion": one.emotion.value} for one in article.entities or ()]
            row = {"newsId": article.news_id, "title": article.title, "content": article.content}
            print(json.dumps({**row, "coreEntityEmotions": labels}), file=file)
    return path


@pytest.fixture(scope="module")
def run(tiny_runs: TinyRuns) -> TinyRun:
    """Return a run that was trained on simplified articles with the option."""
    return tiny_runs.train(overrides=[OPTION])


@pytest.fixture(scope="module")
def simple(tiny_data: Path) -> list[Article]:
    return list(iter_articles(tiny_data / "test.jsonl", labelled=True))


@pytest.fixture(scope="module")
def traditional(simple: list[Article]) -> list[Article]:
    return [in_traditional(article) for article in simple]


def test_answers_are_the_same_names_as_the_article_writes_them(
    run: TinyRun, simple: list[Article], traditional: list[Article]
) -> None:
    predictor = Predictor.load(run.path)
    assert predictor.config.text.to_simplified
    changed = 0
    for want, found, article in zip(
        predictor.predict(simple), predictor.predict(traditional), traditional, strict=True
    ):
        assert len(want.entities) == len(found.entities) > 0
        for one, other in zip(want.entities, found.entities, strict=True):
            assert to_simplified(other.name) == one.name
            assert (other.emotion, other.score, other.probs) == (one.emotion, one.score, one.probs)
            changed += other.name != one.name
            for mention in other.mentions:
                assert article.field(mention.field)[mention.start : mention.end] == mention.surface == other.name
        for runner_up in found.runners_up:
            assert runner_up.name in article.title + article.content
    assert changed > 3


def test_without_the_option_traditional_text_is_another_text(
    tiny_run: TinyRun, simple: list[Article], traditional: list[Article]
) -> None:
    def probs(answers: list[Prediction]) -> list[list[tuple[float, float, float]]]:
        return [[entity.probs for entity in answer.entities] for answer in answers]

    predictor = Predictor.load(tiny_run.path)
    assert probs(predictor.predict(simple)) != probs(predictor.predict(traditional))


def test_the_stream_and_the_report_convert_too(run: TinyRun, traditional: list[Article]) -> None:
    """Gold names of a report are looked for in the converted text, and found there."""
    folder = RunFolder(run.path)
    streamed = list(predict_stream(folder, traditional, workers=1))
    assert streamed == Predictor.load(run.path).predict(traditional)
    records = [record for record, _ in analyse_stream(folder, traditional, workers=1)]
    gold = [{entity.name for entity in record.outcome.gold} for record in records]
    assert gold == [{to_simplified(one.name) for one in article.entities or ()} for article in traditional]
    assert all(record.outcome.in_text == names for record, names in zip(records, gold, strict=True))


def test_training_on_traditional_articles_is_training_on_simplified_ones(
    run: TinyRun, tiny_data: Path, tmp_path: Path
) -> None:
    rows = [in_traditional(article) for article in iter_articles(tiny_data / "train.jsonl", labelled=True)]
    request = TrainRequest(
        [written(rows, tmp_path / "train.jsonl")], load_config(preset="tiny", overrides=[OPTION, "workers=1"])
    )
    assert plan_training(request).n_articles == len(rows)
    mine = RunFolder.create(tmp_path, "r")
    train(request, mine)
    for name in ("rerank", "sentiment"):
        assert mine.oof(name).read_bytes() == RunFolder(run.path).oof(name).read_bytes()
    data = load_run_data(mine, request.train, workers=1)
    assert data.articles == list(iter_articles(tiny_data / "train.jsonl", labelled=True))
    assert sum(int(labels.sum()) for labels in data.table.labels) > len(rows) / 2  # gold names are among the candidates
    assert read_json(mine.metrics)["out_of_fold"] == read_json(run.path / "metrics.json")["out_of_fold"]


def test_a_dictionary_in_traditional_script_is_converted(tmp_path: Path, tiny_data: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("硯臺超市\n", encoding="utf-8")
    options = [OPTION, f"candidates.dictionary={names}", "candidates.use_gold_names=false", "workers=1"]
    run = RunFolder.create(tmp_path, "r")
    train(TrainRequest([tiny_data / "train.jsonl"], load_config(preset="tiny", overrides=options)), run)
    assert set(Predictor.load(run.path).known_names[0]) == {"砚台超市"}


def test_rows_that_heads_learn_from_first_are_converted(tmp_path: Path) -> None:
    row = {"text": "雲杉書店很好", "target": "雲杉書店", "polarity": "POS"}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    options = SentimentConfig(transfer=[str(path)])
    [target] = read_others(options, [], simplify=True)
    assert (target.text, target.name) == ("云杉书店很好", "云杉书店")
    assert read_others(options, [])[0].name == "雲杉書店"


def test_without_opencc_train_and_predict_say_what_to_install(
    run: TinyRun,
    tiny_data: Path,
    run_here: Callable[..., Done],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run.copy_to(tmp_path)
    monkeypatch.setitem(sys.modules, "opencc", None)
    converter.cache_clear()
    for command in (
        ("train", "--preset", "tiny", "--set", OPTION, "--train", tiny_data / "train.jsonl"),
        ("predict", "--run", "tiny", "--input", tiny_data / "test.jsonl", "--output", "a.txt"),
    ):
        done = run_here(*command)
        assert (done.code, done.message) == (2, "text.to_simplified: OpenCC is not installed")
        assert "hint: pip install -r requirements-script.txt\n" in done.err
    assert not (tmp_path / "a.txt").exists()


def compare(config: Config, folder: Path) -> None:
    load_comparison(folder, None, config=config)


def tag(config: Config, folder: Path) -> None:
    train_tagger(TagTraining([folder], config), folder)


def head(config: Config, folder: Path) -> None:
    train_head(HeadTraining(folder, "ian", config), folder)


def match(config: Config, folder: Path) -> None:
    train_matcher(MatchTraining([folder], config), folder)


@pytest.mark.parametrize("work", [compare, tag, head, match])
def test_models_of_own_rows_refuse_the_option(work: Callable[[Config, Path], None], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^text\.to_simplified: these rows are read in their own script"):
        work(load_config(overrides=[OPTION]), tmp_path)
