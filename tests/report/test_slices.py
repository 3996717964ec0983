from __future__ import annotations

import numpy as np
import pytest

from pipeline.report.slices import Facts, KnownNames, bin_name, facts_of, script, slice_rows
from pipeline.schema import Article
from tests.support.outcomes import NEG, POS, outcome

KNOWN = KnownNames(dictionary={"松果"}, training={"云杉x"})


@pytest.mark.parametrize(
    ("value", "name"), [(0, "<3"), (2, "<3"), (3, "3-4"), (4, "3-4"), (5, "5-8"), (9, ">=9"), (20, ">=9")]
)
def test_bins(value: int, name: str) -> None:
    assert bin_name(value, (3, 5, 9)) == name


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("松果", "cjk"),
        ("松果2", "cjk"),
        ("Nova 2", "latin"),
        ("松果Nova", "mixed"),
        ("Ｎova", "latin"),
        ("360", "latin"),
    ],
)
def test_script(name: str, want: str) -> None:
    assert script(name) == want


def test_facts() -> None:
    article = Article("a1", "松果发布", "云杉X与松果。" * 80)
    facts = facts_of(article, outcome({"松果": POS, "云杉X": NEG}, ranks={}, n_chosen=1), KNOWN)
    assert facts.article == {"length": "500-999", "n_gold": "2", "mixed_emotion": "yes"}
    assert facts.entities == (
        {
            "entity_length": "<3",
            "in_dictionary": "yes",
            "in_title": "yes",
            "seen_in_training": "no",
            "script": "cjk",
            "emotion": "POS",
        },
        {
            "entity_length": "3-4",
            "in_dictionary": "no",
            "in_title": "no",
            "seen_in_training": "yes",
            "script": "mixed",
            "emotion": "NEG",
        },
    )
    values = facts.values("手机")
    assert values["topic"] == "手机"
    assert values["n_gold"] == "2"
    assert values["script"] == ["cjk", "mixed"]


def test_rows_count_articles_and_entities_and_come_worst_first() -> None:
    def facts(n_gold: int, *emotions: str) -> Facts:
        return Facts({"n_gold": str(n_gold)}, tuple({"emotion": emotion} for emotion in emotions))

    one = outcome({"松果": POS, "云杉": NEG}, ranks={"松果": 0}, n_chosen=1, emotions={"松果": NEG, "云杉": NEG})
    two = outcome({"银杏": POS}, ranks={"银杏": 0}, n_chosen=1)
    n = 11
    rows = slice_rows(
        [facts(2, "POS", "NEG")] * n + [facts(1, "POS")] * n + [facts(0)],
        ["甲"] * 2 * n + ["乙"],
        [one] * n + [two] * n + [outcome({}, ranks={}, n_chosen=1)],
        np.array([[0.5, 0.0]] * n + [[1.0, 1.0]] * n + [[0.0, 0.0]]),
        n_resamples=20,
    )
    found = {(row["slice"], row["value"]): row for row in rows}
    assert [row["score"]["value"] for row in rows[:-2]] == sorted(row["score"]["value"] for row in rows[:-2])
    assert {(row["slice"], row["value"]) for row in rows[-2:]} == {("topic", "乙"), ("n_gold", "0")}  # too few
    positive = found["emotion", "POS"]
    assert (positive["n_articles"], positive["n_gold"]) == (2 * n, 2 * n)
    assert positive["entity_f1"]["value"] == 0.75
    assert (positive["recall"], positive["emotion_accuracy"]) == (1, 0.5)
    negative = found["emotion", "NEG"]
    assert (negative["n_articles"], negative["n_gold"], negative["recall"]) == (n, n, 0)
    assert negative["emotion_accuracy"] is None
    assert found["n_gold", "2"]["score"] == {"value": 0.25, "low": 0.25, "high": 0.25}
    assert (found["topic", "甲"]["n_articles"], found["topic", "甲"]["n_gold"]) == (2 * n, 3 * n)
