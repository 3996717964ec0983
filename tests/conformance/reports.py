"""Kinds error_report and emotion_report: where each gold entity was lost, and how good a list of emotions is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.report.attribution import Attribution, first_loss
from pipeline.report.emotion import classification
from pipeline.schema import Emotion

from .framework import Adapter, CaseError, Check, Given, Tools, entities_of, equals

# --- error_report


@dataclass(frozen=True)
class Losses:
    """Counts by what became of the gold entities, and the reason of each."""

    counts: Mapping[str, int]
    reasons: Mapping[str, Mapping[str, str | None]]


STAGES = {
    "not_in_text": ("in_text", "texts"),
    "not_candidate": ("candidates", "offered"),
    "pruned": ("kept", "after_pruning"),
    "ranking": ("ranked", "after_ranking"),
    "number": ("final",),
}
"""The reason for which a stage loses names, and how a case calls what it let through; what it leaves out is skipped."""


def error_report(given: Given, tools: Tools) -> Losses:
    """Attribute the gold entities of each article to the first stage that lost them."""
    passed = {reason: given.first(*names) for reason, names in STAGES.items()}
    attribution = Attribution()
    reasons: dict[str, dict[str, str | None]] = {}
    for news_id, pairs in given["gold"].items():
        gold, final = entities_of(pairs), entities_of(passed["number"].get(news_id, []))
        stages = [
            (reason, [item[0] if isinstance(item, list) else item for item in articles.get(news_id, [])])
            for reason, articles in passed.items()
            if articles is not None and reason != "not_in_text"
        ]
        if passed["not_in_text"] is not None:
            text = passed["not_in_text"].get(news_id, "")
            stages.insert(0, ("not_in_text", [entity.name for entity in gold if entity.name in text]))
        reasons[news_id] = {entity.name: first_loss(entity.name, stages) for entity in gold}
        attribution.add(gold, final, reasons[news_id])
    figures = attribution.to_dict(tuple(STAGES))
    counts = Counter(figures["missed"]) | {
        "wrong": figures["hits"]["wrong_emotion"],
        "right": figures["hits"]["right_emotion"],
        "spurious": figures["n_spurious"],
        "gold_total": figures["n_gold"],
        "missed_total": figures["n_missed"],
        "hit_total": figures["n_hits"],
        "pred_total": figures["n_pred"],
    }
    return Losses(counts, reasons)


def _plain(key: str) -> str:
    """Return the name of a count: ``lost_in_ranking`` is ``ranking``, ``hit_wrong_emotion`` is ``wrong``."""
    found = re.sub(r"^(lost|hit|n)_(?!total)(in_(?!text)|by_)?", "", key).removesuffix("_emotion")
    return {
        "ranked_out": "ranking",
        "cut_by_number": "number",
        "cut": "number",
        "pruning": "pruned",
        "gold": "gold_total",
        "missed": "missed_total",
        "hits": "hit_total",
        "pred": "pred_total",
    }.get(found, found)


def _count(key: str, values: Mapping[str, Any]) -> Check | None:
    name = _plain(key)
    names = {*STAGES, "wrong", "right", "spurious", "gold_total", "missed_total", "hit_total", "pred_total"}
    return equals(lambda found: found.counts[name]) if name in names else None


def _sum_check(found: Losses, wanted: str) -> None:
    """Hold ``a + b == c`` against the counts, and that no loss is left out of it."""
    terms, _, total = wanted.partition("==")
    names = [_plain(term.strip()) for term in terms.split("+")]
    for name in [*names, _plain(total.strip())]:
        if name not in found.counts:
            raise CaseError(f"sum_check: {name!r} is not understood")
    assert sum(found.counts[name] for name in names) == found.counts[_plain(total.strip())]


def _reasons(found: Losses, wanted: Mapping[str, Mapping[str, str | None]]) -> None:
    for news_id, expected in wanted.items():
        assert {name: found.reasons[news_id][name] for name in expected} == {
            name: reason and _plain(reason) for name, reason in expected.items()
        }


ERROR_REPORT = Adapter(error_report, {"sum_check": _sum_check, "reasons": _reasons}, _count)

# --- emotion_report


def emotion_report(given: Given, tools: Tools) -> dict[str, Any]:
    """Judge a list of emotions."""
    return classification(*([Emotion(name) for name in given[side]] for side in ("gold", "pred")))


def _near(part: Any) -> Check:
    def check(found: dict[str, Any], wanted: Any) -> None:
        have = part(found)
        if isinstance(wanted, Mapping):
            assert {name: _rounded(have[name]) for name in wanted} == {name: _rounded(wanted[name]) for name in wanted}
        else:
            assert _rounded(have) == _rounded(wanted)

    return check


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 6)


def _of_class(figure: str) -> Check:
    return _near(lambda found: {name: row[figure] for name, row in found["per_class"].items()})


def _by_class(found: dict[str, Any], wanted: Mapping[str, Mapping[str, float]]) -> None:
    for name, figures in wanted.items():
        for figure, value in figures.items():
            assert _rounded(found["per_class"][name][figure]) == _rounded(value)


EMOTION_REPORT = Adapter(
    emotion_report,
    {
        "accuracy": _near(lambda found: found["accuracy"]),
        "macro_f1": _near(lambda found: found["macro_f1"]),
        "per_class_f1": _of_class("f1"),
        "per_class_precision": _of_class("precision"),
        "per_class_recall": _of_class("recall"),
        **dict.fromkeys(("per_class_n", "support"), _of_class("n")),
        "per_class": lambda found, wanted: _by_class(found, wanted),
        **dict.fromkeys(("confusion", "confusion_matrix"), equals(lambda found: found["confusion"])),
        **dict.fromkeys(
            ("majority_baseline_accuracy", "majority_accuracy"), _near(lambda found: found["majority"]["accuracy"])
        ),
        **dict.fromkeys(("majority", "majority_emotion"), equals(lambda found: found["majority"]["emotion"])),
        "beats_majority": equals(lambda found: found["beats_majority"]),
    },
)
