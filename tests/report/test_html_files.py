from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from benchmarks.invented_report import figures, view, views
from pipeline.errors import ConfigError
from pipeline.report.html import data_files, explain_html, write_html
from pipeline.report.html.data_files import FLAGS, index_row, rounded
from pipeline.report.html.texts import texts
from pipeline.report.ladder import human_row


def read(path: Path) -> Any:
    """Read a data file as the page's script would: one call, whose last argument is JSON."""
    call = re.fullmatch(r'reportData\("(\w+)",(\d+),(.*)\);\n', path.read_text(encoding="utf-8"), re.DOTALL)
    assert call is not None
    assert path.name == f"{call[1]}-{call[2]}.js"
    return json.loads(call[3])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_articles_come_in_order_in_files_of_fifty_with_an_index(tmp_path: Path) -> None:
    page = write_html(tmp_path, figures(), views(120, n_chars=40), lang="en")
    assert page == tmp_path / "index.html"
    files = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert files == ["articles-0.js", "articles-1.js", "articles-2.js", "index-0.js"]
    articles = [one for number in range(3) for one in read(tmp_path / f"data/articles-{number}.js")]
    assert articles == [rounded(one) for one in views(120, n_chars=40)]
    index = read(tmp_path / "data/index-0.js")
    assert [row[0] for row in index["rows"]] == [one["id"] for one in articles]


def test_the_index_is_small_and_cut_into_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "ROWS_A_FILE", 8)
    write_html(tmp_path, figures(), views(20), lang="en")
    parts = [read(tmp_path / f"data/index-{number}.js") for number in range(3)]
    assert [len(part["rows"]) for part in parts] == [8, 8, 4]
    size = sum((tmp_path / f"data/index-{number}.js").stat().st_size for number in range(3))
    assert size / 20 < 250  # bytes per article: 10 MB for 40,000


def test_the_page_knows_its_data_by_a_checksum(tmp_path: Path) -> None:
    stamps = set()
    for number in range(2):
        page = write_html(tmp_path, figures(), views(5 + number), lang="en").read_text(encoding="utf-8")
        stamp = read(tmp_path / "data/index-0.js")["stamp"]
        assert f'"stamp":"{stamp}"' in page
        stamps.add(stamp)
    assert len(stamps) == 2


def test_the_same_report_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_html(tmp_path / name, figures(), views(60), lang="zh")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert explain_html(view(3), lang="en") == explain_html(view(3), lang="en")


def test_a_new_report_replaces_the_old_and_leaves_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    write_html(tmp_path, figures(), views(120, n_chars=20), lang="en")
    write_html(tmp_path, figures(), views(3, n_chars=20), lang="en")
    assert list(contents(tmp_path)) == ["data/articles-0.js", "data/index-0.js", "index.html", "report.json"]


def test_a_failure_leaves_the_old_report_whole(tmp_path: Path) -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield view(1)
        raise ValueError("no more")

    write_html(tmp_path, figures(), views(4), lang="en")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="no more"):
        write_html(tmp_path, figures(), failing(), lang="en")
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_html(tmp_path / "file", figures(), views(1), lang="en")


def test_index_row_tells_what_filters_need() -> None:
    article = {
        "id": "a", "title": "t", "entity_f1": 0.5, "emotion_f1": 0.25,
        "slices": {"length": "<500", "script": ["cjk", "latin"], "topic": None},
        "gold": [
            {"entity": "甲", "emotion": "POS", "reason": None, "is_right_emotion": False},
            {"entity": "乙", "emotion": "NEG", "reason": "pruned", "is_right_emotion": None},
        ],
        "pred": [
            {"entity": "甲", "emotion": "NORM", "is_gold": True},
            {"entity": "丙", "emotion": "NEG", "is_gold": False},
        ],
    }  # fmt: skip
    slices = {("script", "latin"): 0}
    _, _, flags, emotions, numbers, score, names = index_row(article, slices)
    assert {name for bit, name in enumerate(FLAGS) if flags >> bit & 1} == {"pruned", "wrong_emotion", "spurious"}
    assert emotions == 0b110_101
    assert slices == {("script", "latin"): 0, ("length", "<500"): 1, ("script", "cjk"): 2}
    assert numbers == [1, 2, 0]
    assert score == 37.5
    assert names == "甲\n乙\n丙"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_pages_need_no_network_and_allow_only_their_own_script(lang: str, tmp_path: Path) -> None:
    pages = [write_html(tmp_path, figures(), views(1), lang=lang).read_text(encoding="utf-8")]
    pages.append(explain_html(view(1), lang=lang))
    for page in pages:
        outside = set(re.findall(r"(?:https?:)?//[\w.]+", page)) - {"http://www.w3.org"}
        assert not {place for place in outside if place.startswith("http")}
        assert not re.search(r"<(?:link|img|iframe|object)\b|\bsrc=|\bstyle=|\bon\w+=", page)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert "default-src 'none'" in policy[1]
        assert "unsafe" not in policy[1]
        assert f'lang="{"zh-CN" if lang == "zh" else "en"}"' in page


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_two_people_are_shown_with_their_source_or_not_at_all(lang: str, tmp_path: Path) -> None:
    found, words = figures(), texts(lang)
    for is_shown in (False, True):
        page = write_html(tmp_path, found, [], lang=lang).read_text(encoding="utf-8")
        seen = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # scripts hold all words
        for part in (words["human"], words["human_source"], "60.5 %"):
            assert (escape(part) in seen) is is_shown
        found["ladder"].append(human_row())


def test_figures_may_lack_intervals_costs_and_curves(tmp_path: Path) -> None:
    bare = figures()
    bare["learning_curve"] = None
    bare["recall_at_k"] = []
    bare["threshold_curve"] = None
    bare["slices"] = []
    bare["ladder"] = bare["ladder"][:1]
    for key in ("score", "entity_f1", "emotion_f1"):
        bare["summary"][key] = {"value": 0.0, "low": None, "high": None}
    page = write_html(tmp_path, bare, [], lang="en").read_text(encoding="utf-8")
    assert "0.0 %" in page
    assert not list((tmp_path / "data").iterdir())


def test_what_figures_say_is_escaped(tmp_path: Path) -> None:
    hostile = figures()
    hostile["run"]["name"] = hostile["gold"]["path"] = "<script>alert(1)</script>\u202e"
    hostile["slices"][0]["value"] = "\"'><img src=x onerror=alert(1)>"
    page = write_html(tmp_path, hostile, views(1), lang="en").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;[U+202E]" in page
