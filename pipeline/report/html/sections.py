"""The sections of figures: stages, misses, emotion, slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.report.html.markup import Html, join, tag
from pipeline.report.html.plots import (
    OUTCOMES,
    SHAPES,
    attribution_bar,
    confusion_heat,
    figure_text,
    interval_bar,
    learning_plot,
    outcome_counts,
    recall_curve,
    reliability_plot,
    threshold_plot,
)
from pipeline.report.html.svg import percent, signed
from pipeline.report.html.texts import STAGES

WORDS_OF_VALUES = {"yes", "no", "POS", "NORM", "NEG", "latin", "cjk", "mixed"}
"""Values of slices that have words of their own; every other value is shown as it is."""


def costs(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return the points that each stage alone loses, by stage."""
    ladder = {row["key"]: row["cost"] for row in figures["ladder"]}
    lost = {stage: ladder.get(f"perfect_{stage}") for stage in STAGES}
    return {stage: cost for stage, cost in lost.items() if cost is not None}


def stages_section(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """The ladder, and the curves of candidates and number."""
    overall = figures["summary"]["score"]["value"]
    columns = ["", "", words["score"], words["gain"], words["entity_f1"], words["emotion_f1"]]
    main = [_ladder_row(row, overall, words) for row in figures["ladder"] if _is_step(row["key"])]
    others = [_ladder_row(row, overall, words) for row in figures["ladder"] if not _is_step(row["key"])]
    more = tag("details", tag("summary", words["all_combinations"]), _table(columns, others, class_="bars"))
    plots = [
        _plot(words["recall_at_k"], recall_curve(figures["recall_at_k"], words)) if figures["recall_at_k"] else None,
        _plot(words["threshold_curve"], threshold_plot(figures["threshold_curve"], words))
        if figures["threshold_curve"] and figures["threshold_curve"]["points"]
        else None,
        _plot(words["learning_curve"], learning_plot(figures["learning_curve"], words))
        if figures.get("learning_curve")
        else None,
    ]
    return tag(
        "section",
        tag("h2", words["ladder"]),
        tag("p", words["ladder_note"], class_="note"),
        _table(columns, main, class_="bars"),
        more if others else None,
        tag("p", words["human_source"], class_="note")
        if any(row["key"] == "human" for row in figures["ladder"])
        else None,
        tag("div", *plots, class_="plots"),
        id="stages",
    )


def _is_step(key: str) -> bool:
    """Whether a row of the ladder is shown at once: one stage perfect, or every stage up to one."""
    parts = key.split("+")
    return len(parts) == 1 or parts == [f"perfect_{stage}" for stage in STAGES[: len(parts)]]


def _ladder_row(row: Mapping[str, Any], overall: float, words: Mapping[str, str]) -> Html:
    simple = row["key"] in ("random", "most_frequent", "human")
    score = row["score"]["value"]
    kind = "bar real" if row["key"] == "real" else "bar other" if simple else "bar"
    return tag(
        "tr",
        tag("th", ladder_name(row["key"], words), scope="row"),
        tag("td", interval_bar(row["score"], reference=overall, class_=kind), class_="wide"),
        tag("td", figure_text(row["score"]), class_="n"),
        tag("td", signed(100 * (score - overall)) if row["key"].startswith("perfect_") else "", class_="n strong"),
        tag("td", percent(row["entity_f1"]["value"], 1), class_="n"),
        tag("td", percent(row["emotion_f1"]["value"], 1), class_="n"),
        class_="own" if row["key"] == "real" else None,
    )


def misses_section(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """Why gold entities were missed, with the cure beside it."""
    counts = outcome_counts(figures["attribution"])
    n_gold = sum(counts.values()) or 1
    rows = []
    for key in (*OUTCOMES, "spurious"):
        count = figures["attribution"]["n_spurious"] if key == "spurious" else counts[key]
        is_shown = count and key != "right_emotion"
        show = tag("button", words["show_articles"], type="button", class_="go", data_reason=key) if is_shown else None
        rows.append(
            tag(
                "tr",
                tag("th", tag("span", words[key], class_=f"key {key}"), scope="row"),
                tag("td", f"{count:,}", class_="n"),
                tag("td", "" if key == "spurious" else percent(count / n_gold, 1), class_="n"),
                tag(
                    "td", words.get(f"fix_{key}", words["fix_emotion"] if key == "wrong_emotion" else ""), class_="cure"
                ),
                tag("td", show),
                class_=None if count else "empty",
            )
        )
    columns = [words["reason"], words["count"], words["share"], words["fix_next"], ""]
    return tag(
        "section",
        tag("h2", words["misses"]),
        tag("p", words["outcome_bar"].format(n=f"{n_gold:,}")),
        attribution_bar(figures["attribution"], words),
        _table(columns, rows, class_="misses-table"),
        id="misses",
    )


def emotion_section(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """How well emotions are told apart, and whether their probabilities mean what they say."""
    emotion = figures["emotion"]
    rows = [
        tag(
            "tr",
            tag("th", emotion_name(name, words), scope="row"),
            *[
                tag("td", percent(emotion["per_class"][name][key], 1), class_="n")
                for key in ("precision", "recall", "f1")
            ],
            tag("td", f"{emotion['per_class'][name]['n']:,}", class_="n"),
        )
        for name in emotion["classes"]
    ]
    columns = ["", words["precision"], words["recall_column"], words["f1"], words["count"]]
    majority = emotion["majority"]
    facts = [
        (words["accuracy"], percent(emotion["accuracy"], 1)),
        (words["macro_f1"], percent(emotion["macro_f1"], 1)),
        (words["majority"].format(emotion=words[majority["emotion"]]), percent(majority["accuracy"], 1)),
        (words["gold_targets"], _accuracy(emotion["gold_targets"])),
        (words["predicted_targets"], _accuracy(emotion["predicted_targets"])),
        (words["gap"], f"{signed(100 * emotion['gap'])} {words['points']}" if emotion["gap"] is not None else "–"),
    ]
    listed = tag(
        "table",
        tag("tbody", *[tag("tr", tag("th", name, scope="row"), tag("td", value, class_="n")) for name, value in facts]),
    )
    note = words["reliability_note"].format(ece=percent(emotion["expected_calibration_error"] or 0.0, 1))
    return tag(
        "section",
        tag("h2", words["emotion"]),
        tag(
            "div",
            _plot(words["confusion"], confusion_heat(emotion["classes"], emotion["confusion"], words)),
            _plot(words["reliability"], reliability_plot(emotion["reliability"], words), note),
            class_="plots",
        ),
        tag("div", _table(columns, rows), tag("div", listed, class_="scroll"), class_="plots"),
        id="emotion",
    )


def slices_section(figures: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """Every slice with its interval, the worst first."""
    overall = figures["summary"]["score"]["value"]
    rows = []
    for row in figures["slices"]:
        name = slice_name(row, words)
        data = {"data_slice": row["slice"], "data_value": str(row["value"])}
        rows.append(
            tag(
                "tr",
                tag("th", tag("button", name, type="button", class_="go", **data), scope="row"),
                tag("td", interval_bar(row["score"], reference=overall), class_="wide"),
                tag("td", figure_text(row["score"]), class_="n"),
                tag("td", percent(row["entity_f1"]["value"], 1), class_="n"),
                tag("td", percent(row["emotion_f1"]["value"], 1), class_="n"),
                tag("td", f"{row['n_articles']:,}", class_="n"),
                tag("td", f"{row['n_gold']:,}", class_="n"),
                tag("td", "" if row.get("recall") is None else percent(row["recall"]), class_="n"),
                class_="few" if row["n_articles"] < 10 else None,
                data_row=row["slice"],
            )
        )
    columns = [words["slice"], "", words["score"], words["entity_f1"], words["emotion_f1"]]
    columns += [words["articles"], words["gold_entities"], words["found_column"]]
    names = list(dict.fromkeys(row["slice"] for row in figures["slices"]))
    options = [tag("option", words["all_slices"], value="")]
    options += [tag("option", words.get(f"slice_{name}", name), value=name) for name in names]
    return tag(
        "section",
        tag("h2", words["slices"]),
        tag("p", words["slices_note"], class_="note"),
        tag("label", tag("span", words["slice"]), tag("select", *options, id="slice_table"), class_="pick"),
        _table(columns, rows, class_="bars slices"),
        id="slices",
    )


def ladder_name(key: str, words: Mapping[str, str]) -> str:
    """Name a row of the ladder; combinations are joined by plus signs."""
    name = " + ".join(words[part] for part in key.split("+"))
    return name[:1].upper() + name[1:]


def emotion_name(name: str, words: Mapping[str, str]) -> Html:
    """Name an emotion in its colour, with its shape."""
    return tag("span", f"{SHAPES[name]} {words[name]}", class_=f"e-{name}")


def slice_name(row: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Name a slice and its value, such as "length: 400-800"."""
    value = str(row["value"])
    shown = words[value] if value in WORDS_OF_VALUES else value
    return f"{words.get('slice_' + row['slice'], row['slice'])}: {shown}"


def _plot(title: str, picture: Html, note: str | None = None) -> Html:
    return tag("figure", tag("figcaption", title), picture, tag("p", note, class_="note") if note else None)


def _table(columns: Sequence[str], rows: Sequence[Html], *, class_: str | None = None) -> Html:
    head = tag("thead", tag("tr", join([tag("th", name, scope="col") for name in columns])))
    return tag("div", tag("table", head, tag("tbody", *rows), class_=class_), class_="scroll")


def _accuracy(figure: Mapping[str, Any]) -> str:
    return f"{percent(figure['accuracy'], 1)} (n = {figure['n']:,})"
