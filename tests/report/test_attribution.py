from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.attribution import REASONS, Attribution, count_losses, first_loss, reasons
from pipeline.report.outcome import Outcome
from pipeline.schema import Entity
from tests.support.outcomes import NEG, NORM, POS, outcome, outcomes


def predicted(found: Outcome, *, spurious: int = 0) -> list[Entity]:
    pred = [Entity(name, found.emotions[name]) for name in found.standing.hits]
    return [*pred, *(Entity(f"无{number}", POS) for number in range(spurious))]


def test_each_reason_is_given_for_the_first_stage_that_fails() -> None:
    names = ["松果", "云杉", "银杏", "海棠", "白桦", "红豆"]
    found = outcome(
        dict.fromkeys(names, POS),
        ranks={"松果": 0, "云杉": 2, "银杏": 3},
        kept=["松果", "云杉", "银杏"],
        offered=["松果", "云杉", "银杏", "海棠"],
        in_text=["松果", "云杉", "银杏", "海棠", "白桦"],
        n_chosen=2,
    )
    assert reasons(found) == {
        "松果": None,
        "云杉": "cut_by_number",
        "银杏": "ranked_out",
        "海棠": "pruned",
        "白桦": "not_candidate_boundary",
        "红豆": "not_in_text",
    }
    assert reasons(found, max_entities=2)["云杉"] == "ranked_out"


def test_a_name_behind_another_spelling_of_it_is_ranked_out() -> None:
    found = outcome({"松果": POS}, ranks={}, kept=["松果"], n_chosen=1)
    assert reasons(found) == {"松果": "ranked_out"}


@given(outcomes())
def test_a_reason_is_what_the_sets_say(found: Outcome) -> None:
    """Walk the stages by hand."""
    for name, reason in reasons(found).items():
        place = found.standing.ranks.get(name, 99)
        if name in found.standing.hits:
            want = None
        elif name not in found.in_text:
            want = "not_in_text"
        elif name not in found.offered:
            want = "not_candidate_segmentation"
        elif name not in found.kept:
            want = "pruned"
        else:
            want = "ranked_out" if place >= 3 else "cut_by_number"
        assert reason == want


@given(st.lists(outcomes(), max_size=6), st.integers(0, 2))
def test_sums(found: list[Outcome], spurious: int) -> None:
    attribution = Attribution()
    for item in found:
        attribution.add(item.gold, predicted(item, spurious=spurious), reasons(item))
    figures = attribution.to_dict()
    n_gold = sum(len(item.gold) for item in found)
    n_hits = sum(len(item.standing.hits) for item in found)
    assert list(figures["missed"]) == list(REASONS)
    assert sum(figures["missed"].values()) == figures["n_missed"] == n_gold - n_hits
    assert sum(figures["hits"].values()) == figures["n_hits"] == n_hits
    assert figures["n_gold"] == n_gold
    assert figures["n_spurious"] == spurious * len(found)
    assert figures["n_pred"] == n_hits + spurious * len(found)


def test_hits_are_split_by_emotion() -> None:
    gold = [Entity("松果", POS), Entity("云杉", NEG), Entity("银杏", NORM)]
    pred = [Entity("松果", POS), Entity("云杉", POS), Entity("海棠", NEG)]
    missed, hits, n_spurious = count_losses(gold, pred, {"松果": None, "云杉": None, "银杏": "pruned"})
    assert missed == Counter(pruned=1)
    assert hits == Counter(right_emotion=1, wrong_emotion=1)
    assert n_spurious == 1


@pytest.mark.parametrize(("name", "want"), [("松果", None), ("云杉", "two"), ("银杏", "one")])
def test_first_loss(name: str, want: str | None) -> None:
    assert first_loss(name, [("one", {"松果", "云杉"}), ("two", ["松果"]), ("three", {"松果", "银杏"})]) == want
