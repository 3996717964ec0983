"""Parts held out: whole groups, every class's share, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.sentiment import SentimentRow
from pipeline.errors import DataError
from pipeline.schema import Target
from pipeline.standalone.heads.split import cut_by_group


def rows_of(pairs: Sequence[tuple[str, str]]) -> list[SentimentRow]:
    """Return a row for each group and label."""
    return [
        SentimentRow(Target("云杉", 0, 0, "", group=group), label, f"rows.jsonl:{number}")
        for number, (group, label) in enumerate(pairs, 1)
    ]


def counts(rows: Sequence[SentimentRow]) -> Counter[str]:
    return Counter(row.label for row in rows)


class_sizes = st.dictionaries(st.sampled_from("abcdef"), st.integers(2, 40), min_size=2)
fractions = st.floats(0.01, 0.9)
seeds = st.integers(0, 2**31 - 1)


@given(class_sizes, fractions, seeds)
def test_every_class_has_its_share_within_one_row(sizes: dict[str, int], fraction: float, seed: int) -> None:
    rows = rows_of([(f"{label}{number}", label) for label, size in sizes.items() for number in range(size)])
    rest, held_out = cut_by_group(rows, fraction=fraction, seed=seed)
    n_wanted = min(len(rows) - 1, max(1, round(len(rows) * fraction)))
    assert len(held_out) == n_wanted
    for label, size in sizes.items():
        assert abs(counts(held_out)[label] - size * n_wanted / len(rows)) < 1
    assert sorted(row.where for row in (*rest, *held_out)) == sorted(row.where for row in rows)


@pytest.mark.parametrize("seed", range(5))
def test_three_balanced_classes_stay_balanced(seed: int) -> None:
    rows = rows_of([(f"{label}{number}", label) for label in "abc" for number in range(30)])
    assert counts(cut_by_group(rows, fraction=0.2, seed=seed)[1]) == {"a": 6, "b": 6, "c": 6}


@given(
    st.lists(st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("ab")), min_size=2),
    fractions,
    seeds,
    st.randoms(use_true_random=False),
)
def test_groups_stay_whole_and_the_order_of_rows_does_not_matter(
    pairs: list[tuple[str, str]], fraction: float, seed: int, rng: object
) -> None:
    rows = rows_of(pairs)
    if len({group for group, _ in pairs}) < 2:
        with pytest.raises(DataError, match=r"rows\.jsonl:1: all rows are of one text"):
            cut_by_group(rows, fraction=fraction, seed=seed)
        return
    parts = cut_by_group(rows, fraction=fraction, seed=seed)
    rest, held_out = ({row.example.group for row in part} for part in parts)
    assert rest
    assert held_out
    assert not rest & held_out
    shuffled = list(rows)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    again = cut_by_group(shuffled, fraction=fraction, seed=seed)
    assert [sorted(row.where for row in part) for part in again] == [
        sorted(row.where for row in part) for part in parts
    ]


def test_other_seeds_hold_other_rows_out() -> None:
    rows = rows_of([(f"{label}{number}", label) for label in "ab" for number in range(30)])
    found = {tuple(row.where for row in cut_by_group(rows, fraction=0.2, seed=seed)[1]) for seed in range(10)}
    assert len(found) == 10


@pytest.mark.parametrize("seed", range(10))
def test_the_only_text_of_a_class_can_be_learnt(seed: int) -> None:
    rows = rows_of([("only", "rare"), *((f"a{number}", "a") for number in range(6))])
    rest, held_out = cut_by_group(rows, fraction=0.5, seed=seed)
    assert counts(rest)["rare"] == 1
    assert len(held_out) == 3
