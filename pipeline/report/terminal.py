"""Reports as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.report.views import View
from pipeline.schema import EMOTIONS
from pipeline.text.terminal import padded, shown

NAME_COLUMNS = 24
MAX_MENTIONS = 6
NEXT_FEATURES = 4
"""Features shown of a candidate that was not chosen."""
MAX_TOKENS = 8
"""Tokens shown of an attention map: those with the most weight."""


def ladder_text(figures: Mapping[str, Any]) -> str:
    """Lay out the single steps of the ladder and what became of the gold entities."""
    lines = [f"{'':<24}{'entity F1':>10}{'+emotion':>10}{'score':>8}   {'95% interval':<18}{'points lost':>11}"]
    for row in figures["ladder"]:
        if "+" not in row["key"]:
            score, cost = row["score"], row["cost"]
            bounds = "" if score["low"] is None else f"{score['low']:.4f} - {score['high']:.4f}"
            values = f"{row['entity_f1']['value']:>10.4f}{row['emotion_f1']['value']:>10.4f}{score['value']:>8.4f}"
            lost = "" if cost is None else f"{round(cost, 1) + 0.0:>11.1f}"  # not -0.0
            lines.append(f"{row['key']:<24}{values}   {bounds:<18}{lost}".rstrip())
    lines += [f"{row['key']}: {row['source']}" for row in figures["ladder"] if row.get("source")]
    found = figures["attribution"]
    rows = [("gold entities", found["n_gold"]), ("missed", found["n_missed"])]
    rows += [(f"  {reason}", count) for reason, count in found["missed"].items()]
    rows += [("hits", found["n_hits"]), *((f"  {kind}", count) for kind, count in found["hits"].items())]
    rows += [("spurious", found["n_spurious"])]
    return "\n".join([*lines, "", *(f"{label:<30}{count:>6}" for label, count in rows)])


def article_text(view: View) -> str:
    """Lay out one article: the answer, what decided it, the next candidates, and the labels where there are any."""
    return "\n".join(_article_lines(view))


def _article_lines(view: View) -> Iterator[str]:
    yield f"{shown(view['id'])}  {shown(view['title'])}"
    yield ""
    yield "core entities" if view["pred"] else "core entities: none, the article has no candidate"
    for number, row in enumerate(view["pred"], 1):
        probs = "  ".join(f"{emotion} {prob:.3f}" for emotion, prob in zip(EMOTIONS, row["probs"], strict=True))
        name = padded(shown(row["entity"]), NAME_COLUMNS)
        yield f"{number}. {name} {row['score']:.3f}  {row['emotion']:<4}  ({probs})"
        yield f"   {_mentions(row['mentions'])}"
        yield from _features(row["features"])
        for item in view["attention"]:
            if item["entity"] == row["entity"]:
                yield f"   {item['head']} looked at: {_tokens(view, item['weights'])}"
    if view["next"]:
        yield ""
        yield "next candidates"
    for row in view["next"]:
        name = padded(shown(row["entity"]), NAME_COLUMNS)
        yield f"-  {name} {row['score']:.3f}  {_mentions(row.get('mentions', []))}".rstrip()
        yield from _features(row.get("features", [])[:NEXT_FEATURES])
    if view["gold"]:
        yield ""
        yield "gold"
    for row in view["gold"]:
        state = row["reason"] or ("right emotion" if row["is_right_emotion"] else "wrong emotion")
        yield f"-  {padded(shown(row['entity']), NAME_COLUMNS)} {row['emotion']:<4}  {state}"


def _mentions(places: Sequence[Sequence[Any]]) -> str:
    listed = ", ".join(f"{field} {start}-{end}" for field, start, end in places[:MAX_MENTIONS])
    rest = f" and {len(places) - MAX_MENTIONS} more" if len(places) > MAX_MENTIONS else ""
    return f"{len(places)} mention{'s' * (len(places) != 1)}: {listed}{rest}" if places else ""


def _features(features: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what lifted and what lowered a candidate; the number in brackets is in log odds."""
    for verb, sign in (("lifted by", 1), ("lowered by", -1)):
        chosen = [item for item in features if item["shap"] * sign > 0]
        if chosen:
            listed = ", ".join(f"{item['name']} = {_value(item['value'])} ({item['shap']:+.2f})" for item in chosen)
            yield f"   {verb} {listed}"


def _value(value: float | None) -> str:
    return "n/a" if value is None else f"{value:g}"


def _tokens(view: View, weights: Sequence[Sequence[Any]]) -> str:
    best = sorted(weights, key=lambda item: -item[3])[:MAX_TOKENS]
    return ", ".join(f"{shown(view[field][start:end])} {weight:.2f}" for field, start, end, weight in best)


def comparison_text(figures: Mapping[str, Any], changed: Sequence[Mapping[str, Any]], *, most: int = 20) -> str:
    """Lay out the difference between two runs, and the articles whose score changed most."""
    names = [shown(figures[side]["name"]) for side in ("base", "other")]
    lines = [f"{'':<20}{names[0]:>16}{names[1]:>16}{'difference':>12}   95% interval, paired"]
    for name, row in figures["figures"].items():
        values = f"{row['base']:>16.4f}{row['other']:>16.4f}{row['delta']:>+12.4f}"
        lines.append(f"{name:<20}{values}   {row['low']:+.4f} to {row['high']:+.4f}")
    lines += ["", f"{figures['n_changed']} of {figures['n_articles']} articles have another answer"]
    lines += [
        "",
        f"{'gold entities':<30}{'':<30}{'n':>6}",
        *(f"{row['before']:<30}{row['after']:<30}{row['n']:>6}" for row in figures["transitions"]),
    ]
    spurious = figures["spurious"]
    lines += ["", f"spurious entities: {spurious['gone']} gone, {spurious['new']} new, {spurious['kept']} in both"]
    if changed:
        lines += ["", "changed most"]
    for row in sorted(changed, key=lambda row: (-abs(row["delta"]), row["id"]))[:most]:
        lines.append(f"{row['delta']:+.3f}  {shown(row['id'])}  {shown(row['title'])}")
        lines += [
            f"        {padded(shown(item['entity']), NAME_COLUMNS)} {item['before']} -> {item['after']}"
            for item in row["entities"]
        ]
    return "\n".join(lines)
