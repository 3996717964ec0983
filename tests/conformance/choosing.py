"""Kinds select and oof: the chosen candidates of an article, and rates that do not know the article."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.entities.features import FoldedKeyCounts
from pipeline.entities.features.fitted import hit_rate
from pipeline.entities.rerank import NumberRule, choose

from .framework import Adapter, CaseError, Check, Given, Tools, equals

# --- select


@dataclass(frozen=True)
class Selection:
    """The chosen names of each article, the best first, and the same for every order of the rows that was tried."""

    chosen: dict[str, list[str]]
    others: list[dict[str, list[str]]]


_TERM = re.compile(r"(?:(?P<number>[0-9.]+)(?:\*(?P<top>top))?|(?P<top_first>top)(?:\*(?P<share>[0-9.]+))?)")


def parse_rule(rule: Mapping[str, Any]) -> NumberRule:
    """Read ``{"first": "always", "rest": "p >= max(0.28, 0.5*top)", "max": 3}``."""
    unknown = set(rule) - {"first", "rest", "max", "min"}
    if unknown or rule.get("first", "always") != "always" or rule.get("min", 1) not in (0, 1):
        raise CaseError(f"rule {dict(rule)} is not understood")
    compact = re.sub(r"\s", "", rule.get("rest", "p>=0")).lower()
    match = re.fullmatch(r"p>=(?:max\((?P<many>[^()]*)\)|(?P<one>[^()]*))", compact)
    terms = [_TERM.fullmatch(term) for term in (match["many"] or match["one"]).split(",")] if match else [None]
    floors, shares = [0.0], [0.0]
    for term in terms:
        if term is None:
            raise CaseError(f"rule {rule['rest']!r} is not understood")
        if term["top_first"]:
            shares.append(float(term["share"] or 1))
        else:
            (shares if term["top"] else floors).append(float(term["number"]))
    return NumberRule(floor=max(floors), share_of_top=max(shares), max_entities=rule.get("max", 3))


def select(given: Given, tools: Tools) -> Selection:
    """Choose with a rule, with the rows in their order and in several others."""
    rule, ties = parse_rule(given["rule"]), given.get("tie_keys", {})

    def choose_all(seed: int | None) -> dict[str, list[str]]:
        answer = {}
        for news_id, pairs in given["articles"].items():
            rows = list(pairs)
            if seed is not None:
                rows = [rows[row] for row in np.random.default_rng(seed).permutation(len(rows))]
            names = [name for name, _ in rows]
            firsts = np.array([ties.get(name, {}).get("first_pos", 0) for name in names])
            probs = np.array([prob for _, prob in rows], dtype=np.float64)
            answer[news_id] = [names[row] for row in choose(probs, names, firsts, rule)]
        return answer

    return Selection(choose_all(None), [choose_all(seed) for seed in range(10)])


def _in_order(names: list[str], wanted: Any) -> None:
    assert names == wanted


def _has_size(names: list[str], wanted: Any) -> None:
    assert len(names) == wanted


def _is_set(names: list[str], wanted: Any) -> None:
    assert set(names) == set(wanted)


def _has(names: list[str], wanted: Any) -> None:
    assert set(names) >= set([wanted] if isinstance(wanted, str) else wanted)


def _lacks(names: list[str], wanted: Any) -> None:
    assert not set(names) & set([wanted] if isinstance(wanted, str) else wanted)


_OF_ARTICLE = {
    **dict.fromkeys(("", "_chosen", "_order", "_list"), _in_order),
    **dict.fromkeys(("_set_size", "_size", "_count", "_n"), _has_size),
    "_set": _is_set,
    "_first": lambda names, wanted: _in_order(names[:1], [wanted]),
    **dict.fromkeys(("_includes", "_must_include"), _has),
    **dict.fromkeys(("_excludes", "_must_not_include"), _lacks),
}


def _of_article(key: str, values: Mapping[str, Any]) -> Check | None:
    """Find the check of ``<newsId>_set_size`` and the like."""
    for news_id in sorted(values["articles"], key=len, reverse=True):
        check = _OF_ARTICLE.get(key.removeprefix(news_id)) if key.startswith(news_id) else None
        if check is not None:
            return lambda found, wanted, check=check, news_id=news_id: check(found.chosen[news_id], wanted)
    return None


def _by_article(check: Check) -> Check:
    def check_all(found: Selection, wanted: Any) -> None:
        for news_id, value in wanted.items():
            check(found.chosen[news_id], value)

    return check_all


SELECT = Adapter(
    select,
    {
        **dict.fromkeys(("chosen", "selected", "order"), _by_article(_in_order)),
        **dict.fromkeys(("sets", "chosen_sets"), _by_article(_is_set)),
        **dict.fromkeys(("set_size", "sizes", "set_sizes"), _by_article(_has_size)),
        "stable_under_row_shuffle": equals(lambda found: all(other == found.chosen for other in found.others)),
        **dict.fromkeys(("never_empty", "non_empty"), equals(lambda found: all(found.chosen.values()))),
        "max_size": lambda found, wanted: _within(found, wanted),
    },
    _of_article,
)


def _within(found: Selection, wanted: int) -> None:
    assert max(map(len, found.chosen.values())) <= wanted


# --- oof


@dataclass(frozen=True)
class Rates:
    """Hit rate of every row, from the folds that do not hold its article."""

    rates: dict[str, float]
    priors: dict[str, float]
    """By article."""
    flipped: dict[str, float]
    """The same rates, each with the labels of the row's own article turned around."""


def oof(given: Given, tools: Tools) -> Rates:
    """Compute out-of-fold hit rates."""
    rows, folds = given["rows"], given["folds"]
    fold_of = dict(folds) if isinstance(folds, Mapping) else {i: n for n, ids in enumerate(folds) for i in ids}
    smoothing = given.get("smoothing", 0)

    def count(turned: str | None) -> FoldedKeyCounts:
        counts = FoldedKeyCounts()
        for news_id in dict.fromkeys(row["newsId"] for row in rows):
            own = [row for row in rows if row["newsId"] == news_id]
            gold = [row["cand"] for row in own if bool(row["label"]) != (news_id == turned)]
            counts.add(fold_of[news_id], [row["cand"] for row in own], gold)
        return counts

    def rate(row: Mapping[str, Any], counts: FoldedKeyCounts) -> float:
        columns = hit_rate([row["cand"]], counts.without(fold_of[row["newsId"]]), smoothing)
        return float(columns["hit_rate"][0])

    names = [f"{row['newsId']}/{row['cand']}" for row in rows]
    plain = count(None)
    return Rates(
        rates={name: rate(row, plain) for name, row in zip(names, rows, strict=True)},
        priors={news_id: plain.without(fold).prior for news_id, fold in fold_of.items()},
        flipped={name: rate(row, count(row["newsId"])) for name, row in zip(names, rows, strict=True)},
    )


def _close(found: Mapping[str, float], wanted: Mapping[str, float]) -> None:
    assert {name: round(found[name], 6) for name in wanted} == {name: round(value, 6) for name, value in wanted.items()}


OOF = Adapter(
    oof,
    {
        **dict.fromkeys(("rate", "rates", "unseen", "hit_rate"), lambda found, wanted: _close(found.rates, wanted)),
        **dict.fromkeys(("prior", "overall"), lambda found, wanted: _close(found.priors, wanted)),
        **dict.fromkeys(("own_label_has_no_effect", "no_leak"), equals(lambda found: found.rates == found.flipped)),
    },
)
