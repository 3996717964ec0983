from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.formats.pair_rows import PairRow
from pipeline.standalone.matching.dev_cut import dev_rows, pair_groups

TEXTS = st.sampled_from(["", *(f"t{number}" for number in range(12))])


def rows_of(pairs: list[tuple[str, str]]) -> list[PairRow]:
    return [PairRow(line, {}, left, right) for line, (left, right) in enumerate(pairs, 1)]


def test_pairs_that_share_a_text_however_far_apart_are_one_group() -> None:
    groups = pair_groups(rows_of([("a", "b"), ("c", "d"), ("ｂ", "e"), ("E ", "f"), ("", "g"), ("", "h")]))
    assert groups[0] == groups[2] == groups[3]
    assert len(set(groups.tolist())) == 4


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=30), st.floats(0.01, 0.5), st.integers(0, 5))
def test_no_text_stands_on_both_sides_and_no_more_is_kept_back_than_asked(
    pairs: list[tuple[str, str]], fraction: float, seed: int
) -> None:
    groups = pair_groups(rows_of(pairs))
    kept_back = dev_rows(groups, fraction=fraction, seed=seed)
    assert kept_back.sum() <= round(len(pairs) * fraction)
    sides: list[set[str]] = [set(), set()]
    for pair, is_dev in zip(pairs, kept_back, strict=True):
        sides[int(is_dev)] |= set(pair) - {""}
    assert not sides[0] & sides[1]


def test_pairs_without_a_common_text_are_kept_back_to_the_row() -> None:
    groups = pair_groups(rows_of([(f"a{n}", f"b{n}") for n in range(40)]))
    first, again, other = (dev_rows(groups, fraction=0.1, seed=seed) for seed in (1, 1, 2))
    assert first.sum() == 4
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
