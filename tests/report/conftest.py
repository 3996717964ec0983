"""A tiny run and its report, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import TinyRun

from pipeline.artifacts import RunFolder
from pipeline.read import iter_articles
from pipeline.report import Report, build_report
from pipeline.report.build import Analyst
from pipeline.schema import Article, Emotion, Entity


@pytest.fixture(scope="session")
def run(tiny_run: TinyRun) -> RunFolder:
    return RunFolder.load(tiny_run.path)


@pytest.fixture(scope="session")
def gold(tiny_data: Path) -> list[Article]:
    """Return held-out articles, more than one chunk of them, and one for each way to lose an entity."""
    articles = list(iter_articles(tiny_data / "all.jsonl", labelled=True))
    lost = Article(
        "lost",
        "砚台超市开业",
        "砚台超市今天开业，好评如潮。甲乙丙丁戊。",
        (
            Entity("砚台超市", Emotion.NEG),
            Entity("从未出现", Emotion.POS),
            Entity("台超", Emotion.NORM),
            Entity("今天开业", Emotion.POS),
        ),
    )
    return [*articles, lost, Article("empty", "", "", ())]


@pytest.fixture(scope="session")
def tiny_articles(tiny_data: Path) -> list[Article]:
    """Return the articles that the run was trained on."""
    return list(iter_articles(tiny_data / "train.jsonl", labelled=True))


@pytest.fixture(scope="session")
def analyst(run: RunFolder) -> Analyst:
    return Analyst.load(run.path)


@pytest.fixture(scope="session")
def report(run: RunFolder, gold: list[Article]) -> Report:
    return build_report(run, gold, workers=1, gold_path="gold.jsonl")
