from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.rerank import NumberRule, choose
from pipeline.metric import entity_f1
from pipeline.report.curves import DEPTHS, Top, recall_at_k, threshold_curve
from pipeline.report.outcome import Outcome
from tests.support.outcomes import POS, outcome, outcomes


def test_recall_counts_gold_names_by_their_place() -> None:
    gold = dict.fromkeys(["松果", "云杉", "银杏", "海棠"], POS)
    found = [outcome(gold, ranks={"松果": 0, "云杉": 1, "银杏": 60}, n_chosen=1, offered=list(gold))]
    rows = {row["k"]: row["recall"] for row in recall_at_k(found)}
    assert (rows[1], rows[2], rows[3], rows[50], rows[100], rows["all"]) == (0.25, 0.5, 0.5, 0.5, 0.75, 1)


@given(st.lists(outcomes(), min_size=1))
def test_recall_never_falls(found: list[Outcome]) -> None:
    recalls = [row["recall"] for row in recall_at_k(found)]
    if recalls[0] is None:
        assert not any(item.gold for item in found)
    else:
        assert recalls == sorted(recalls)
        assert len(recalls) == len(DEPTHS) + 1


@given(st.lists(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=3), min_size=1, max_size=5), st.data())
def test_the_curve_is_what_choosing_with_each_floor_gives(
    articles: list[list[tuple[float, bool]]], data: st.DataObject
) -> None:
    ranked = [sorted(article, key=lambda item: -item[0]) for article in articles]
    extra = [data.draw(st.integers(0, 2)) for _ in ranked]
    rule = NumberRule(0.3, 0.5)
    tops = [Top(tuple(prob for prob, _ in article), tuple(hit for _, hit in article)) for article in ranked]
    n_gold = [sum(top.is_gold) + more for top, more in zip(tops, extra, strict=True)]
    curve = threshold_curve(tops, n_gold, rule)
    assert curve["chosen"] == {"floor": 0.3, "share_of_top": 0.5}
    for point in curve["points"][::7]:
        f1 = []
        for top, n in zip(tops, n_gold, strict=True):
            names = [f"n{row}" for row in range(len(top.probs))]
            tried = NumberRule(point["floor"], 0.5)
            rows = choose(np.array(top.probs), names, np.arange(len(names)), tried)
            gold = [f"n{row}" for row in range(len(names)) if top.is_gold[row]]
            f1.append(entity_f1([*gold, *(f"x{i}" for i in range(n - len(gold)))], [names[row] for row in rows]))
        assert point["entity_f1"] == pytest.approx(np.mean(f1), abs=1e-6)


def test_the_chosen_floor_is_a_point() -> None:
    curve = threshold_curve([Top((0.9,), (True,))], [1], NumberRule(0.155, 0.5))
    assert 0.155 in [point["floor"] for point in curve["points"]]
