"""The plots of the report, each a pure function of figures from ``report.json``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.report.html.markup import Html, tag
from pipeline.report.html.svg import (
    BOTTOM,
    HEIGHT,
    TOP,
    Frame,
    around,
    dots,
    figure,
    line,
    percent,
    plot,
    rect,
    strip,
)
from pipeline.report.html.texts import REASONS

EMOTIONS = ("POS", "NORM", "NEG")
SHAPES = {"POS": "▲", "NORM": "●", "NEG": "▼"}
"""Beside the colour, which not everyone sees and no printer keeps."""
OUTCOMES = ("right_emotion", "wrong_emotion", *REASONS)


def interval_bar(figure_: Mapping[str, Any], *, reference: float | None = None, class_: str = "bar") -> Html:
    """Draw a share of one as a bar with its interval, and a line where the reference stands.

    Args:
        figure_: ``value``, ``low`` and ``high``; the last two may be None.
        reference: a share to compare with.
        class_: of the bar.
    """
    value, low, high = figure_["value"], figure_["low"], figure_["high"]
    marks = [rect(0, 100, y=2, height=6, class_="track"), rect(0, 100 * value, y=2, height=6, class_=class_)]
    if low is not None and high is not None:
        marks.append(rect(100 * low, max(0.4, 100 * (high - low)), y=4, height=2, class_="interval"))
    if reference is not None:
        marks.append(line([(100 * reference, 0), (100 * reference, 10)], class_="reference"))
    return strip(*marks, label=figure_text(figure_))


def score_scale(score: Mapping[str, Any], others: Mapping[str, float]) -> Html:
    """Draw a score with its interval on a scale from 0 to 1, with other scores named beside it.

    Args:
        score: a figure.
        others: name -> score, such as those of chance and of people.
    """
    width, middle = 330.0, 30.0
    at = {name: 8 + value * (width - 16) for name, value in {**others, "": score["value"]}.items()}
    marks = [tag("line", class_="scale", x1=8.0, x2=width - 8, y1=middle, y2=middle)]
    if score["low"] is not None:
        ends = [8 + score[key] * (width - 16) for key in ("low", "high")]
        marks.append(line([(ends[0], middle), (ends[1], middle)], class_="scale-interval"))
    for index, (name, value) in enumerate(sorted(others.items(), key=lambda item: item[1])):
        below = index % 2 == 0  # neighbours on different sides, so that their names do not meet
        marks.append(tag("line", class_="scale-tick", x1=at[name], x2=at[name], y1=middle - 6, y2=middle + 6))
        anchor = "start" if value < 0.15 else "end" if value > 0.85 else "middle"
        place = at[name] + {"start": -6, "end": 6, "middle": 0}[anchor]
        words = f"{name} {percent(value, 1)}"
        marks.append(tag("text", words, class_="tick", x=place, y=middle + (21 if below else -12), text_anchor=anchor))
    marks.append(tag("circle", class_="scale-point", cx=at[""], cy=middle, r=7))
    return figure(width, 58, *marks, label=figure_text(score))


def cost_bar(cost: float, largest: float) -> Html:
    """Draw points lost, as a share of the largest loss."""
    share = 100 * max(0.0, cost) / largest if largest > 0 else 0
    return strip(rect(0, share, y=1, height=8, class_="bar lost"), label=f"{cost:.1f}")


def attribution_bar(attribution: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """Draw what became of the gold entities as one stacked bar."""
    counts = outcome_counts(attribution)
    total = sum(counts.values()) or 1
    marks, start = [], 0.0
    for key, count in counts.items():
        share = 100 * count / total
        if count:
            box = rect(start, share, class_=f"outcome {key}")
            marks.append(tag("g", tag("title", f"{words[key]}: {count} ({percent(count / total)})"), box))
        start += share
    return strip(*marks, label=words["outcome_bar"].format(n=sum(counts.values())), class_="strip thick")


def outcome_counts(attribution: Mapping[str, Any]) -> dict[str, int]:
    """Return how many gold entities had each outcome, hits first, then reasons in the order of the pipeline."""
    known = {**attribution["hits"], **attribution["missed"]}
    return {key: known.get(key, 0) for key in OUTCOMES}


def recall_curve(rows: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> Html:
    """Draw the share of gold entities among the k best candidates; the steps of k are evenly apart."""
    low, _ = around([row["recall"] for row in rows])
    frame = Frame((0, max(1, len(rows) - 1)), (math.floor(low * 10) / 10, 1.0))
    points = [(frame.x(index), frame.y(row["recall"])) for index, row in enumerate(rows)]
    names = [words["all"] if row["k"] == "all" else str(row["k"]) for row in rows]
    titles = [f"k = {name}: {percent(row['recall'], 1)}" for name, row in zip(names, rows, strict=True)]
    return plot(
        frame,
        line(points, class_="curve"),
        dots(points, titles, class_="dot"),
        label=words["recall_at_k"],
        x_ticks=list(enumerate(names)),
        x_label="k",
        y_label=words["recall"],
    )


def threshold_plot(curve: Mapping[str, Any], words: Mapping[str, str]) -> Html:
    """Draw entity F1 by the probability that a further entity needs, and the one the run has chosen."""
    rows = sorted(curve["points"], key=lambda row: row["floor"])
    floors = [row["floor"] for row in rows]
    frame = Frame((floors[0], max(floors[-1], floors[0] + 0.01)), around([row["entity_f1"] for row in rows]))
    points = [(frame.x(row["floor"]), frame.y(row["entity_f1"])) for row in rows]
    titles = [f"{words['floor']} {row['floor']:.2f}: {percent(row['entity_f1'], 1)}" for row in rows]
    marks = [line(points, class_="curve"), dots(points, titles, class_="dot", radius=2.5)]
    floor = curve["chosen"]["floor"]
    if floors[0] <= floor <= floors[-1]:
        place = frame.x(floor)
        marks.insert(0, line([(place, TOP), (place, HEIGHT - BOTTOM)], class_="reference"))
        right = place > (frame.x(floors[0]) + frame.x(floors[-1])) / 2
        words_at = {"x": place + (-6 if right else 6), "y": float(TOP + 10), "text_anchor": "end" if right else "start"}
        marks.append(tag("text", f"{words['chosen']} {floor:.2f}", class_="tick strong", **words_at))
    step = max(1, math.ceil(len(floors) / 8))
    return plot(
        frame,
        *marks,
        label=words["threshold_curve"],
        x_ticks=[(value, f"{value:.2f}") for value in floors[::step]],
        x_label=words["floor"],
        y_label=words["entity_f1"],
    )


def reliability_plot(bins: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> Html:
    """Draw accuracy by confidence; the diagonal is honesty."""
    rows = [row for row in bins if row["n"]]
    frame = Frame((0.3, 1.0), (0.0, 1.0))
    most = max((row["n"] for row in rows), default=1)
    points = [(frame.x(min(1.0, max(0.3, row["confidence"]))), frame.y(row["accuracy"])) for row in rows]
    circles = []
    for row, point in zip(rows, points, strict=True):
        title = f"{percent(row['confidence'])} → {percent(row['accuracy'])} (n = {row['n']})"
        circles.append(dots([point], [title], class_="dot", radius=2.5 + 5.5 * math.sqrt(row["n"] / most)))
    honest = line([(frame.x(0.3), frame.y(0.3)), (frame.x(1), frame.y(1))], class_="reference")
    return plot(
        frame,
        honest,
        *([line(points, class_="curve thin")] if points else []),
        *circles,
        label=words["reliability"],
        x_ticks=[(value / 10, percent(value / 10)) for value in range(3, 11)],
        x_label=words["confidence"],
        y_label=words["accuracy"],
    )


def confusion_heat(classes: Sequence[str], matrix: Sequence[Sequence[int]], words: Mapping[str, str]) -> Html:
    """Draw a confusion matrix; a cell is as dark as its share of the row, which is one gold emotion."""
    left, top, wide, high = 92.0, 44.0, 104.0, 56.0
    marks = [tag("text", f"{words['predicted']} →", class_="axis-label", x=left, y=14.0)]
    marks.append(tag("text", f"{words['gold']} ↓", class_="axis-label", x=left - 12, y=36.0, text_anchor="end"))
    for row, name in enumerate(classes):
        title = f"{SHAPES[name]} {words[name]}"
        middle = top + high * row + high / 2
        marks.append(tag("text", title, class_=f"tick e-{name}", x=left - 12, y=middle + 4, text_anchor="end"))
        marks.append(
            tag("text", title, class_=f"tick e-{name}", x=left + wide * (row + 0.5), y=36.0, text_anchor="middle")
        )
        total = sum(matrix[row]) or 1
        for column, count in enumerate(matrix[row]):
            share = count / total
            x, y = left + wide * column, top + high * row
            kind = "right" if row == column else "wrong"
            shade = 0.06 + 0.5 * share
            centre = x + wide / 2
            marks += [
                tag(
                    "rect", class_=f"cell {kind}", x=x + 1, y=y + 1, width=wide - 2, height=high - 2, fill_opacity=shade
                ),
                tag("text", str(count), class_="cell-count", x=centre, y=y + high / 2 + 1, text_anchor="middle"),
                tag("text", percent(share), class_="tick", x=centre, y=y + high / 2 + 17, text_anchor="middle"),
            ]
    width, height = left + wide * len(classes) + 4, top + high * len(classes) + 4
    return figure(width, height, *marks, label=words["confusion"])


def learning_plot(rows: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> Html:
    """Draw score, entity F1 and emotion F1 by the number of training articles."""
    rows = sorted(rows, key=lambda row: row["n_articles"])
    keys = ("entity_f1", "score", "emotion_f1")
    values = {key: [_value(row[key]) for row in rows] for key in keys}
    sizes = [row["n_articles"] for row in rows]
    frame = Frame((0, max(sizes)), around([value for column in values.values() for value in column]))
    marks = []
    for key in keys:
        points = [(frame.x(size), frame.y(value)) for size, value in zip(sizes, values[key], strict=True)]
        titles = [f"{words[key]}: {percent(value, 1)} ({size})" for size, value in zip(sizes, values[key], strict=True)]
        marks += [line(points, class_=f"curve {key}"), dots(points, titles, class_=f"dot {key}")]
        x, y = points[-1]
        marks.append(tag("text", words[key], class_="tick", x=x - 4, y=y - 9, text_anchor="end"))
    return plot(
        frame,
        *marks,
        label=words["learning_curve"],
        x_ticks=[(size, f"{size:,}") for size in sizes],
        x_label=words["training_articles"],
        y_label=words["score"],
    )


def figure_text(figure_: Mapping[str, Any]) -> str:
    """Write a figure with its interval."""
    if figure_["low"] is None or figure_["high"] is None:
        return percent(figure_["value"], 1)
    return f"{percent(figure_['value'], 1)} [{100 * figure_['low']:.1f} – {100 * figure_['high']:.1f}]"


def _value(figure_: Any) -> float:
    """Return a learning curve's figure, given with or without its interval."""
    return float(figure_["value"] if isinstance(figure_, Mapping) else figure_)
