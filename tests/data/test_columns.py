"""Article rows whose text stands under another name: refused with the option that reads them, never read as empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.data.articles import parse_article
from pipeline.data.read import Reading, iter_articles
from pipeline.data.read import parse_article as same
from pipeline.errors import DataError
from pipeline.schema import Entity
from tests.support.paths import FILES

INPUTS = FILES / "inputs"


@pytest.mark.parametrize(
    ("row", "message", "hint"),
    [
        (
            {"id": "a", "title": "甲", "text": "乙"},
            r"no newsId \(have: id, title, text; want: newsId, title, content\)",
            "--columns newsId=id,content=text",
        ),
        (
            {"newsId": "a", "title": "甲", "text": "乙"},
            r"no content \(have: newsId, title, text",
            "--columns content=text (or content= where there is none)",
        ),
        (
            {"newsId": "a", "title": "甲", "story": "乙"},
            "no content",
            "--columns content=NAME (or content= where there is none)",
        ),
        (
            {"newsId": "a", "headline": "甲", "content": "乙"},
            "no title",
            "--columns title=headline (or title= where there is none)",
        ),
        (
            {"newsId": "a", "标题": "甲", "正文": "乙"},
            "neither title nor content",
            "--columns title=标题,content=正文",
        ),
    ],
)
def test_text_under_another_name_is_refused(row: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        parse_article(row)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "row",
    [
        {"newsId": "a", "title": "甲"},
        {"newsId": "a", "title": "甲", "n": 3},
        {"newsId": "a", "content": "乙", "url": "x"},
        {"newsId": "a", "title": "甲", "content": "", "text": "丙"},
    ],
)
def test_rows_that_lack_nothing_are_read(row: dict[str, object]) -> None:
    assert same(row).news_id == "a"


def test_the_file_of_the_report_is_refused_and_read_as_the_hint_says() -> None:
    path = INPUTS / "idtext.jsonl"
    with pytest.raises(DataError, match=r"idtext\.jsonl:1: no newsId") as caught:
        list(iter_articles(path))
    assert caught.value.hint == "--columns newsId=id,content=text"
    articles = list(iter_articles(path, reading=Reading(columns={"newsId": "id", "content": "text"})))
    same_news = list(iter_articles(INPUTS / "array_pretty.json"))
    assert [(item.title, item.content) for item in articles] == [(item.title, item.content) for item in same_news]
    assert len(articles) == 2
    assert same_news[0].entities is not None
    assert same_news[0].entities[0].name == "湘禾味业"


def test_a_table_of_articles(tmp_path: Path) -> None:
    path = tmp_path / "news.csv"
    labels = '"[{""entity"": ""青禾"", ""emotion"": ""正面""}]"'
    path.write_bytes(
        f'newsId,title,content,coreEntityEmotions\r\n007,甲,"乙\r\n丙",{labels}\r\n8,丁,,\r\n'.encode("gbk")
    )
    first, second = iter_articles(path)
    assert (first.news_id, first.title, first.content) == ("007", "甲", "乙\r\n丙")
    assert first.entities == (Entity("青禾", "POS"),)
    assert (second.content, second.entities) == ("", None)


def test_a_file_without_content_is_read_where_the_user_says_so(tmp_path: Path) -> None:
    path = tmp_path / "news.csv"
    path.write_text("newsId,title,source\n1,甲,乙\n", encoding="utf-8")
    with pytest.raises(DataError, match="no content"):
        list(iter_articles(path))
    (article,) = iter_articles(path, reading=Reading(columns={"content": ""}))
    assert (article.title, article.content) == ("甲", "")
