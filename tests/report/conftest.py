from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile import HOSTILE_CONTENT, HOSTILE_ID, HOSTILE_TITLE

from benchmarks.chromium import Chromium, find_chromium
from benchmarks.invented_report import figures, view
from pipeline.report.html import write_html

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
