"""A tiny run and its report, a page of invented articles, and a browser; each made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.chromium import Chromium, find_chromium
from benchmarks.invented_report import figures, view
from pipeline.artifacts import RunFolder
from pipeline.data.read import iter_articles
from pipeline.report import Report, build_report
from pipeline.report.build import Analyst
from pipeline.report.html import write_html
from pipeline.schema import Article, Emotion, Entity
from tests.support.command_line import TinyRun
from tests.support.hostile import HOSTILE_CONTENT, HOSTILE_ID, HOSTILE_TITLE

N_ARTICLES = 130
"""Three files of articles."""


@pytest.fixture(scope="session")
def report_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of invented articles; the one in the middle is full of markup."""
    folder = tmp_path_factory.mktemp("report")
    articles = [view(number, n_chars=160) for number in range(N_ARTICLES)]
    articles[70] = hostile = view(70, title=HOSTILE_TITLE, content=HOSTILE_CONTENT, id_=HOSTILE_ID)
    hostile["gold"][0] |= {"entity": "<b>标题</b>", "mentions": [["title", 29, 38]], "emotion": "NEG"}
    hostile["pred"][0] |= {"entity": "野家 👩\u200d👧", "emotion": "POS", "features": hostile["pred"][0]["features"]}
    start = HOSTILE_CONTENT.index("野家")
    hostile["pred"][0]["mentions"] = [["content", start, start + 6]]
    hostile["slices"]["topic"] = "<i>话题</i>\u202e"
    articles[100]["content"] += "只有这一篇写着独角鲸。"
    write_html(folder, figures(N_ARTICLES), articles, lang="en")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """Return a headless Chromium."""
    if find_chromium() is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium fonts-noto-cjk)")
    with Chromium() as chromium:
        yield chromium


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
