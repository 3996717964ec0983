"""The page in a real Chromium: what it shows, what it lets run, and that its controls work."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from benchmarks.chromium import Chromium, all_texts, shown_text
from benchmarks.invented_report import figures, view
from pipeline.report.html import explain_html, write_html
from pipeline.report.html.markup import visible
from tests.support.hostile import HOSTILE_CONTENT, HOSTILE_ID, HOSTILE_TITLE

IS_LOADED = "document.querySelector('#matches').textContent.startsWith('130 of 130')"


@pytest.fixture
def page(browser: Chromium, report_folder: Path) -> Chromium:
    """Open the report and wait for its list."""
    browser.open(report_folder / "index.html")
    browser.wait(IS_LOADED)
    return browser


def opened(browser: Chromium) -> str:
    """Return the id of the article in view."""
    article: str = browser.run("document.querySelector('#detail').dataset.id ?? ''")
    return article


def wait_for(browser: Chromium, number: int) -> None:
    browser.wait(f"document.querySelector('#detail').dataset.id === '{number:08x}'")


def choose(browser: Chromium, select: str, label: str) -> None:
    """Choose an option by its words, as a person does."""
    browser.run(f"""(() => {{
      const select = document.getElementById({json.dumps(select)});
      const option = [...select.options].find((one) => one.textContent === {json.dumps(label)});
      select.value = option.value;
      select.dispatchEvent(new Event("change", {{ bubbles: true }}));
    }})()""")


def type_into_search(browser: Chromium, text: str) -> None:
    browser.run("document.getElementById('search').focus()")
    browser.call("Input.insertText", text=text)


def matches(browser: Chromium) -> int:
    return int(shown_text(browser, "#matches").split(" ")[0])


def expected(condition: object) -> int:
    """Count the invented articles that fulfil a condition; the hostile one is counted by nobody."""
    assert callable(condition)
    return sum(bool(condition(view(number, n_chars=160))) for number in range(130) if number != 70)


def test_the_page_opens_without_a_complaint(page: Chromium) -> None:
    assert page.complaints == []
    assert shown_text(page, "h1") == "Where the points are lost"
    assert page.run("document.querySelectorAll('#rows .row').length") < 40  # of 130: the rest is not in the page
    assert page.run("document.querySelectorAll('svg.plot').length") == 6


def test_articles_are_loaded_only_when_they_are_opened(page: Chromium) -> None:
    page.run("""{
      const real = window.reportData;
      window.loaded = [];
      window.reportData = (kind, number, value) => {
        window.loaded.push(`${kind}-${number}`);
        real(kind, number, value);
      };
    }""")
    for number in range(3):
        page.press("j")
        wait_for(page, number)
    assert page.run("window.loaded") == ["articles-0"]
    page.run("location.hash = '#article=00000064'")
    wait_for(page, 100)
    assert page.run("window.loaded") == ["articles-0", "articles-2"]


def test_nothing_in_a_hostile_article_runs_and_every_character_is_shown(browser: Chromium, report_folder: Path) -> None:
    browser.open(report_folder / "index.html", f"article={quote(HOSTILE_ID)}")
    browser.wait("document.querySelector('#detail .content')")
    assert opened(browser) == HOSTILE_ID
    assert shown_text(browser, "#detail .content") == visible(HOSTILE_CONTENT)
    assert shown_text(browser, "#detail .article-title") == visible(HOSTILE_TITLE)
    assert visible(HOSTILE_TITLE) in all_texts(browser, ".row-title")
    assert "topic: <i>话题</i>[U+202E]" in all_texts(browser, ".chip")
    assert browser.run("window.ran === undefined")
    assert browser.run("document.querySelectorAll('img, iframe, #detail svg, #detail script, #detail b b').length") == 0
    assert browser.complaints == []
    # What is drawn, and not only in the tree: the widths of the marks of hidden characters.
    assert browser.run("[...document.querySelectorAll('#detail .hidden-char')].every((one) => one.offsetWidth > 20)")


def test_marks_are_found_by_code_points_and_know_their_emotion(browser: Chromium, report_folder: Path) -> None:
    browser.open(report_folder / "index.html", f"article={quote(HOSTILE_ID)}")
    browser.wait("document.querySelector('#detail .content')")
    assert all_texts(browser, ".article-title mark.gold.m-NEG") == ["<b>标题</b>"]
    assert "野家 👩\u200d👧" in all_texts(browser, ".content mark.pred.m-POS")


def test_overlapping_marks_nest_and_lose_no_character(browser: Chromium, tmp_path: Path) -> None:
    article = view(1, title="上海大学上海", content="上海大学生𠮷在上海大学")
    gold = {"reason": None, "is_right_emotion": True}
    article["gold"] = [
        {"entity": "上海大学", "emotion": "POS", "mentions": [["content", 0, 4], ["content", 7, 11]], **gold},
        {"entity": "大学生𠮷", "emotion": "NEG", "mentions": [["content", 2, 6]], **gold},
    ]
    article["pred"][0] |= {"entity": "上海", "emotion": "NORM", "mentions": [["content", 0, 2], ["content", 7, 9]]}
    article["pred"] = article["pred"][:1]
    (tmp_path / "one.html").write_text(explain_html(article, lang="zh"), encoding="utf-8")
    browser.open(tmp_path / "one.html")
    assert shown_text(browser, ".content") == "上海大学生𠮷在上海大学"
    pieces = browser.run("""[...document.querySelectorAll(".content mark:not(:has(mark))")].map((one) => {
      const names = [];
      for (let up = one; up.tagName === "MARK"; up = up.parentElement) names.unshift(up.dataset.entity);
      return [one.textContent, ...names];
    })""")
    assert pieces == [
        ["上海", "上海大学", "上海"],
        ["大学", "上海大学", "大学生𠮷"],
        ["生𠮷", "大学生𠮷"],
        ["上海", "上海大学", "上海"],
        ["大学", "上海大学"],
    ]
    assert browser.complaints == []


def test_keys_go_to_the_next_and_the_previous_article(page: Chromium) -> None:
    page.press("j")
    wait_for(page, 0)
    page.press("ArrowRight", "j")
    wait_for(page, 2)
    page.press("k")
    wait_for(page, 1)
    page.press("ArrowLeft", "k", "k")
    wait_for(page, 0)
    page.run("document.getElementById('list').focus()")
    page.press("ArrowDown")
    wait_for(page, 1)
    assert page.run("location.hash") == "#article=00000001"
    assert page.run("document.querySelector('[aria-selected=true]').dataset.position") == "1"
    assert "j or → next" in shown_text(page, ".keys")


def test_keys_that_are_typed_into_the_search_stay_there(page: Chromium) -> None:
    page.press("/", "j", "k")
    assert page.run("document.activeElement.id") == "search"
    assert page.run("document.getElementById('search').value") == "jk"
    assert opened(page) == ""
    page.press("Escape")
    assert page.run("document.activeElement.id") == ""


def test_the_list_follows_the_article_far_down(page: Chromium) -> None:
    page.press(*["j"] * 60)
    wait_for(page, 59)
    chosen = "document.querySelector('[aria-selected=true]').getBoundingClientRect()"
    pane = "document.getElementById('list').getBoundingClientRect()"
    assert page.run(f"{chosen}.top >= {pane}.top - 1 && {chosen}.bottom <= {pane}.bottom + 1")


@pytest.mark.parametrize("reason", ["pruned", "spurious", "wrong_emotion"])
def test_filter_by_outcome(page: Chromium, reason: str) -> None:
    page.run(f"document.querySelector('#filter_reason').value = '{reason}'")
    page.run("document.querySelector('#filter_reason').dispatchEvent(new Event('change'))")

    def has(article: dict[str, list[dict[str, object]]]) -> bool:
        if reason == "spurious":
            return any(not entity["is_gold"] for entity in article["pred"])
        if reason == "wrong_emotion":
            return any(entity["is_right_emotion"] is False for entity in article["gold"])
        return any(entity["reason"] == reason for entity in article["gold"])

    assert 0 < matches(page) - expected(has) + 1 <= 2  # the hostile article may be one more


def test_filters_of_emotion_and_slice_work_together_and_reset(page: Chromium) -> None:
    choose(page, "filter_emotion", "gold ▼ negative")
    choose(page, "filter_slice", "Latin letters")

    def has(article: dict[str, object]) -> bool:
        emotions = [entity["emotion"] for entity in article["gold"]]  # type: ignore[attr-defined]
        return "NEG" in emotions and article["slices"]["script"] == "latin"  # type: ignore[index]

    assert 0 < expected(has) < 60
    assert matches(page) - expected(has) in (0, 1)
    page.run("document.getElementById('reset').click()")
    assert matches(page) == 130


def test_order_by_score(page: Chromium) -> None:
    choose(page, "sort", "lowest score first")
    scores = [float(text.split(" ")[0]) for text in all_texts(page, ".row .n")]
    assert scores == sorted(scores)
    assert scores[0] == 0


@pytest.mark.parametrize(
    ("query", "found"),
    [("0000002a", ["0000002a"]), ("第42号", ["0000002a"]), ("独角鲸", ["00000064"]), ("没有此词", [])],
)
def test_search_by_id_title_and_text(page: Chromium, query: str, found: list[str]) -> None:
    type_into_search(page, query)
    page.wait(f"document.documentElement.dataset.searched === {json.dumps(query)}")
    assert all_texts(page, ".row code") == found
    if not found:
        assert shown_text(page, "#matches").startswith("No article matches")


def test_search_by_entity_needs_no_text(page: Chromium) -> None:
    page.run("document.getElementById('search_texts').checked = false")
    type_into_search(page, "aster")

    def has(article: dict[str, list[dict[str, object]]]) -> bool:
        names = [entity["entity"] for key in ("gold", "pred") for entity in article[key]]
        return "Aster" in names or "Aster" in article["title"]

    page.wait("!document.querySelector('#matches').textContent.startsWith('130 ')")
    assert matches(page) - expected(has) in (0, 1)


def test_a_link_opens_its_article_and_a_wrong_one_says_so(browser: Chromium, report_folder: Path) -> None:
    browser.open(report_folder / "index.html", "article=00000055")
    wait_for(browser, 0x55)
    assert browser.run("document.getElementById('articles').getBoundingClientRect().top < 200")
    browser.run("location.hash = '#article=00000003'")
    wait_for(browser, 3)
    browser.open(report_folder / "index.html", "article=nobody")
    browser.wait("document.querySelector('#detail .error')")
    assert shown_text(browser, "#detail .error") == "There is no article nobody in this report."
    assert browser.complaints == []


def test_the_tables_lead_to_their_articles(page: Chromium) -> None:
    page.run("document.querySelector('#misses button[data-reason=ranked_out]').click()")
    n_ranked_out = matches(page)
    assert 0 < n_ranked_out < 130
    assert page.run("document.getElementById('filter_reason').value") == "ranked_out"
    page.run("document.querySelector('.worst button').click()")
    assert page.run("document.getElementById('filter_reason').value") == ""
    assert page.run("document.getElementById('filter_slice').selectedOptions[0].textContent") == "Latin letters"
    choose(page, "slice_table", "topic")
    assert page.run("[...document.querySelectorAll('tr[data-row]')].filter((row) => !row.hidden).length") == 2


def test_attention_is_drawn_over_the_text_and_changes_none_of_it(page: Chromium) -> None:
    page.press("j")
    wait_for(page, 0)
    before = shown_text(page, ".content")
    assert page.run("document.querySelectorAll('.heat').length") == 0
    page.run("document.querySelector('.attention button:nth-of-type(2)').click()")
    assert page.run("document.querySelectorAll('.heat').length") >= 20
    assert shown_text(page, ".content") == before


def test_a_click_on_an_entity_shows_its_mentions(page: Chromium) -> None:
    page.run("location.hash = '#article=00000003'")
    wait_for(page, 3)
    name = page.run("document.querySelector('#detail .tables button').textContent")
    page.run("document.querySelector('#detail .tables button').click()")
    focused = page.run("[...document.querySelectorAll('mark.focus')].map((one) => one.dataset.entity)")
    assert focused
    assert set(focused) == {name}


def test_the_theme_follows_the_system_until_it_is_toggled(page: Chromium) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.run(paper)
    page.run("document.getElementById('theme').click()")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert page.run(paper) != light
    page.run("document.getElementById('theme').click()")
    assert page.run(paper) == light
    assert page.run("localStorage.getItem('report-theme')") == "light"
    page.run("localStorage.clear()")


def test_missing_and_foreign_data_are_said_in_plain_words(
    browser: Chromium, report_folder: Path, tmp_path: Path
) -> None:
    shutil.copy(report_folder / "index.html", tmp_path / "index.html")
    browser.open(tmp_path / "index.html")
    browser.wait("document.querySelector('#matches.error')")
    assert shown_text(browser, "#matches").startswith("data/index-0.js cannot be read.")
    write_html(tmp_path / "other", figures(), [view(1)], lang="en")
    shutil.copytree(tmp_path / "other" / "data", tmp_path / "data")
    browser.open(tmp_path / "index.html")
    browser.wait("document.querySelector('#matches.error')")
    assert shown_text(browser, "#matches").startswith("The folder data belongs to another report.")


def test_a_script_that_was_put_into_the_page_does_not_run(
    browser: Chromium, report_folder: Path, tmp_path: Path
) -> None:
    page = (report_folder / "index.html").read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text(
        page.replace("<main>", "<main><script>window.ran=true</script>"), encoding="utf-8"
    )
    browser.open(tmp_path / "index.html")
    browser.wait("document.querySelector('#matches.error')")  # the page's own script ran
    assert browser.run("window.ran === undefined")
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_article_explained_without_labels(browser: Chromium, tmp_path: Path, lang: str) -> None:
    article = view(3, title="<b>无标注</b>")
    article["gold"], article["entity_f1"], article["emotion_f1"], article["slices"] = [], None, None, {}
    article["next"][0]["features"] = article["pred"][0]["features"]
    (tmp_path / "one.html").write_text(explain_html(article, lang=lang), encoding="utf-8")
    browser.open(tmp_path / "one.html")
    browser.wait("document.querySelector('.content')")
    assert shown_text(browser, ".article-title") == "<b>无标注</b>"
    assert len(all_texts(browser, "#detail caption")) == 2  # predicted, next; no gold
    assert len(all_texts(browser, "details.features")) == len(article["pred"]) + 1
    assert browser.complaints == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(report_folder: Path, browser: Chromium, width: int) -> None:
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
    try:
        browser.open(report_folder / "index.html", "article=00000003")
        wait_for(browser, 3)
        assert browser.run("document.documentElement.scrollWidth") <= width
    finally:
        browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)


def test_paper_is_white_even_where_the_screen_is_dark(browser: Chromium, report_folder: Path) -> None:
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open(report_folder / "index.html", "article=00000003")
    wait_for(browser, 3)
    try:
        browser.call("Emulation.setEmulatedMedia", features=dark)
        assert browser.run(paper) == "rgb(19, 23, 26)"
        browser.call("Emulation.setEmulatedMedia", media="print", features=dark)
        assert browser.run(paper) == "rgb(255, 255, 255)"
        shown = "[...document.querySelectorAll('.top, .list-pane, #detail')].map((one) => one.offsetHeight > 0)"
        assert browser.run(shown) == [False, False, True]
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])
