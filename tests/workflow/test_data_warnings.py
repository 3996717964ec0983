"""Doubts about the data of a training: told with numbers, and not told where there is none."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.data.folds import known_articles
from pipeline.data.read import iter_articles
from pipeline.schema import Article, Emotion, Entity
from pipeline.workflow.data_warnings import little_data, warn_of_data
from tests.support.command_line import Cli
from tests.support.paths import SAMPLE


def config(*overrides: str) -> Config:
    return load_config(preset="tiny", overrides=overrides)


def article(number: int, *emotions: Emotion, text: str | None = None) -> Article:
    entities = tuple(Entity(f"青禾{number}号店{emotion}", emotion) for emotion in emotions)
    words = "，".join(entity.name for entity in entities)
    return Article(f"a{number}", f"第{number}篇{number * 7919}", text or f"{words}。{number * 104729}", entities)


def test_plenty_of_data_is_not_warned_of() -> None:
    assert little_data([article(number, *Emotion) for number in range(60)], config("tagger.name=lstm")) == []


def test_each_kind_of_little_data_is_told_with_its_numbers() -> None:
    articles = [article(number, Emotion.POS) for number in range(40)]
    articles += [article(40, Emotion.NEG), article(41, Emotion.NEG, text="没有提到")]
    assert little_data(articles, config()) == [
        "42 articles to train on, fewer than 50: the figures say little",
        "entities to learn emotions from: 0 NORM, 2 NEG, fewer than the 3 folds",
    ]
    assert little_data(articles, config("tagger.name=lstm"))[2:] == [
        "41 articles with an entity in their text, fewer than the tagger wants (20 in each of 3 folds)"
    ]
    assert len(little_data(articles, config("mode=joint", "tagger.name=lstm"))) == 3


def test_dev_articles_that_are_trained_on_are_found_by_text_and_not_by_id() -> None:
    story = "青禾咖啡今天宣布全线涨价，云杉汽车同日降价，松果手机没有回应记者的提问，银杏书店照常营业。"
    train = [Article("n1", "青禾咖啡全线涨价了", story), Article("n2", "", "别的事情，与此无关，说的是天气和道路。")]
    dev = [
        Article("n1", "毫不相干的一个标题", "只有编号相同，内容完全是另外一回事情。"),
        Article("x1", "转载", story + "完。"),
        Article("x2", "", "谁也没有写过的一段新文字，讲的是图书馆。"),
        Article("n2", "", "别的事情，与此无关，说的是天气和道路。"),
    ]
    assert known_articles(train, dev) == ["x1", "n2"]
    assert known_articles([], dev) == known_articles(train, []) == []


def test_known_dev_articles_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    train = list(iter_articles(SAMPLE / "train.jsonl", labelled=True))
    dev = list(iter_articles(SAMPLE / "dev.jsonl", labelled=True))
    with caplog.at_level(logging.WARNING):
        warn_of_data(train, config(), dev)
        assert caplog.messages == []
        warn_of_data(train, config(), [*dev, *train[:2]])
    ids = ", ".join(one.news_id for one in train[:2])
    assert caplog.messages == [
        f"2 of {len(dev) + 2} articles of --dev are trained on, or nearly the same as one: {ids}"
    ]


def test_train_and_its_dry_run_tell(cli: Cli, tiny_data: Path, tmp_path: Path) -> None:
    lines = (tiny_data / "train.jsonl").read_text(encoding="utf-8").splitlines()
    again = json.loads(lines[0])
    (tmp_path / "dev.jsonl").write_text(f"{lines[0]}\n{json.dumps(again | {'title': '再来一次'})}\n", encoding="utf-8")
    arguments = ("train", "--preset", "tiny", "--set", "workers=1", "--train", tiny_data / "train.jsonl")
    plan = cli.run(*arguments, "--dev", "dev.jsonl", "--dry-run", cwd=tmp_path)
    done = cli.run(*arguments, "--dev", "dev.jsonl", "--run", "r", cwd=tmp_path)
    for told in (plan, done):
        assert told.code == 0, told.err
        assert "44 articles to train on, fewer than 50" in told.err
        assert "2 of 2 articles of --dev are trained on" in told.err
    figures = json.loads((tmp_path / "models" / "r" / "metrics.json").read_bytes())
    assert figures["dev"]["n_articles"] == 2  # one id twice: both rows count
