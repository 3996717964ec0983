"""The report's page: sections of figures and plots, and the frame that the article browser fills."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.report.html.markup import Html, join, script_json, tag
from pipeline.report.html.plots import cost_bar, figure_text, interval_bar, score_scale
from pipeline.report.html.sections import (
    costs,
    emotion_section,
    misses_section,
    slice_name,
    slices_section,
    stages_section,
)
from pipeline.report.html.svg import percent
from pipeline.report.html.texts import REASONS

ASSETS = Path(__file__).parent / "assets"
STYLES = ("base.css", "report.css", "article.css")
SCRIPTS = ("text.js", "detail.js", "list.js", "browser.js")
EXPLAIN_SCRIPTS = ("text.js", "detail.js", "explain.js")
MIN_ARTICLES = 10
"""Of a slice that is named on the first screen."""


def document(title: str, body: Html, *, lang: str, scripts: tuple[str, ...], data: dict[str, Any]) -> str:
    """Return a whole page that needs no network and runs no script but its own.

    The policy names style and script by their checksums; scripts from files are allowed for the article data.

    Args:
        title: of the window.
        body: markup.
        lang: ``en`` or ``zh``.
        scripts: names of the files in ``assets`` that are put into the page.
        data: what the scripts read, by element id.
    """
    style = Html("".join((ASSETS / name).read_text(encoding="utf-8") for name in STYLES))
    code = "".join((ASSETS / name).read_text(encoding="utf-8") for name in scripts)
    script = Html(f'(function () {{\n"use strict";\n{code}}})();\n')
    policy = (
        f"default-src 'none'; script-src {_checksum(script)} 'self' file:; style-src {_checksum(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = [
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    ]
    blocks = [
        tag("script", Html(script_json(value)), type="application/json", id=f"data-{name}")
        for name, value in data.items()
    ]
    page = tag(
        "html",
        tag("head", join(head)),
        tag("body", body, *blocks, tag("script", script)),
        lang="zh-CN" if lang == "zh" else "en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def report_page(figures: Mapping[str, Any], words: Mapping[str, str], *, lang: str, data: dict[str, Any]) -> str:
    """Return index.html.

    Args:
        figures: the content of ``report.json``.
        words: the texts of ``lang``.
        lang: ``en`` or ``zh``.
        data: what the article browser needs to find its files.
    """
    run, gold = figures["run"], figures["gold"]
    about = words["run_line"].format(
        run=run["name"],
        preset=run["preset"],
        seed=run["seed"],
        n_articles=f"{gold['n_articles']:,}",
        n_gold=f"{gold['n_gold']:,}",
        gold=gold["path"],
    )
    sections = ("overview", "stages", "misses", "emotion", "slices", "articles")
    links = [tag("a", words[f"nav_{name}"], href=f"#{name}") for name in sections]
    header = tag(
        "header",
        tag("a", words["skip"], href="#articles", class_="skip"),
        tag("nav", join(links)),
        tag("button", "◐", id="theme", type="button", title=words["theme"], aria_label=words["theme"]),
        class_="top",
    )
    main = tag(
        "main",
        tag("h1", words["title"]),
        tag("p", about, class_="about"),
        _overview(figures, words),
        stages_section(figures, words),
        misses_section(figures, words),
        emotion_section(figures, words),
        slices_section(figures, words),
        _browser(words),
    )
    title = f"{words['title']} · {run['name']}"
    return document(title, join([header, main]), lang=lang, scripts=SCRIPTS, data=data)


def _overview(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """The first screen: score, points lost to each stage, the worst slices, and what to do about it."""
    summary = figures["summary"]
    ladder = {row["key"]: row for row in figures["ladder"]}
    others = {words[f"scale_{key}"]: ladder[key]["score"]["value"] for key in ("random", "human") if key in ladder}
    value, interval = _value_and_interval(summary["score"])
    parts = [
        tag(
            "p",
            tag("span", words[key], class_="name"),
            tag("b", percent(summary[key]["value"], 1)),
            tag("span", _value_and_interval(summary[key])[1], class_="interval-text"),
            class_="part",
        )
        for key in ("entity_f1", "emotion_f1")
    ]
    micro, on_hits = summary["micro"], summary["emotion_accuracy_on_hits"]["value"]
    shares = {
        "micro_precision": micro.get("entity_precision"),
        "micro_recall": micro.get("entity_recall"),
        "accuracy_on_hits": on_hits,
    }
    parts += [
        tag("p", tag("span", words[key], class_="name"), tag("span", percent(share, 1)), class_="part small")
        for key, share in shares.items()
        if share is not None
    ]
    score = tag(
        "div",
        tag("h2", words["score"]),
        tag("p", tag("b", value), tag("span", interval, class_="interval-text"), class_="score"),
        score_scale(summary["score"], others),
        *parts,
        class_="card",
    )
    return tag(
        "section",
        tag("div", score, _lost(figures, words), _worst(figures, words), class_="cards"),
        tag("p", words["interval_note"], " ", words["lost_note"], class_="note"),
        id="overview",
    )


def _lost(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    lost = costs(figures)
    largest = max(lost.values(), default=0.0)
    intervals = {
        row["key"].removeprefix("perfect_"): f"[{low['low']:.1f} – {low['high']:.1f}]".replace("-", "−")
        for row in figures["ladder"]
        if (low := row.get("cost_interval")) and low["low"] is not None
    }
    rows = [
        tag(
            "tr",
            tag("th", words[f"stage_{stage}"], scope="row"),
            tag("td", cost_bar(cost, largest), class_="half"),
            tag("td", f"{cost:.1f}".replace("-0.0", "0.0").replace("-", "−"), class_="n strong"),
            tag("td", intervals.get(stage), class_="n interval-text"),
        )
        for stage, cost in sorted(lost.items(), key=lambda item: -item[1])
    ]
    fix = None
    if lost:
        worst = max(lost, key=lambda stage: lost[stage])
        fix = tag("p", tag("b", f"{words['fix_next']}: "), words[f"fix_{worst}"], class_="fix")
    return tag(
        "div",
        tag("h2", words["lost"]),
        tag("table", tag("tbody", *rows), class_="bars"),
        fix,
        class_="card",
    )


def _worst(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    rows = [row for row in figures["slices"] if row["n_articles"] >= MIN_ARTICLES][:3]
    overall = figures["summary"]["score"]["value"]
    items = [
        tag(
            "li",
            tag(
                "button",
                slice_name(row, words),
                type="button",
                class_="go",
                data_slice=row["slice"],
                data_value=str(row["value"]),
            ),
            tag("b", percent(row["score"]["value"], 1)),
            interval_bar(row["score"], reference=overall, class_="bar lost"),
            tag(
                "span",
                f"{_value_and_interval(row['score'])[1]} · {row['n_articles']:,} {words['n_articles']}",
                class_="interval-text",
            ),
        )
        for row in rows
    ]
    return tag("div", tag("h2", words["worst"]), tag("ol", *items, class_="worst"), class_="card")


def _browser(words: Mapping[str, str]) -> Html:
    def select(name: str, options: list[tuple[str, str]]) -> Html:
        choices = [tag("option", text, value=value) for value, text in options]
        return tag("label", tag("span", words[name]), tag("select", *choices, id=name))

    reasons = [("", words["any"]), ("any_error", words["any_error"])]
    reasons += [(key, words[key]) for key in (*REASONS, "wrong_emotion", "spurious", "all_right")]
    controls = tag(
        "div",
        tag(
            "label",
            tag("span", words["search_label"]),
            tag(
                "input", type="search", id="search", placeholder=words["search"], autocomplete="off", spellcheck="false"
            ),
            class_="search",
        ),
        tag("label", tag("input", type="checkbox", id="search_texts"), words["search_texts"], class_="check"),
        select("filter_reason", reasons),
        select("filter_emotion", [("", words["any"])]),
        select("filter_slice", [("", words["any"])]),
        select("sort", [("file", words["sort_file"]), ("worst", words["sort_worst"])]),
        tag("button", words["reset"], id="reset", type="button"),
        class_="controls",
    )
    panes = tag(
        "div",
        tag(
            "div",
            tag("p", words["loading"], id="matches", role="status"),
            tag("div", tag("div", id="rows"), id="list", role="listbox", tabindex="0", aria_label=words["articles"]),
            class_="list-pane",
        ),
        tag("article", tag("p", words["choose_article"], class_="note"), id="detail", tabindex="-1"),
        class_="panes",
    )
    return tag(
        "section",
        tag("h2", words["articles"]),
        tag("noscript", tag("p", words["no_script"])),
        controls,
        tag("p", words["keys"], class_="keys"),
        panes,
        id="articles",
    )


def _value_and_interval(figure: Mapping[str, Any]) -> tuple[str, str]:
    value, _, interval = figure_text(figure).partition(" [")
    return value, f"[{interval}" if interval else ""


def _checksum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
