"""Near-duplicate grouping: what joins, what does not, and that chance and order do not decide."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.data.near_duplicates import (
    MIN_SKETCH,
    NEIGHBOURS,
    NearDuplicates,
    are_near_duplicates,
    comparison_key,
    sketch,
)


def invented_text(seed: int, n_chars: int) -> str:
    """Random Chinese characters: two seeds share no six in a row."""
    rng = random.Random(seed)
    return "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(n_chars))


def grouped(*texts: tuple[str, str]) -> list[int]:
    found = NearDuplicates()
    for number, (title, content) in enumerate(texts):
        found.add(f"{number:06}", title, content)
    return found.groups()


def test_sketch_is_the_same_in_every_version() -> None:
    """Folds of stored runs rest on these numbers."""
    assert sketch("银杏书店今天开业").hashes.tolist() == [880575055346656316, 3161197861721146256, 11100636527163585457]
    assert len(sketch(invented_text(1, 40)).hashes) == 35
    assert MIN_SKETCH <= len(sketch(invented_text(1, 3000)).hashes) < 300


def test_sketch_ignores_width_case_blanks_and_marks() -> None:
    assert comparison_key("《Ｖivo X27》 发布!\n") == "vivox27发布"
    assert sketch("ＶＩＶＯ Ｘ２７，今天发布。").hashes.tolist() == sketch("vivo x27今天发布").hashes.tolist()


@given(st.text())
def test_every_text_with_letters_is_a_near_duplicate_of_itself(text: str) -> None:
    assert are_near_duplicates(sketch(text), sketch(text)) is bool(comparison_key(text))


@given(st.text(max_size=40), st.text(max_size=40))
def test_being_near_duplicates_is_mutual(left: str, right: str) -> None:
    assert are_near_duplicates(sketch(left), sketch(right)) == are_near_duplicates(sketch(right), sketch(left))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n_chars=st.integers(20, 2000), share=st.sampled_from([0.2, 0.8]))
def test_the_share_of_common_text_decides(seed: int, n_chars: int, share: float) -> None:
    cut = int(n_chars * share)
    left = invented_text(seed, n_chars)
    right = left[:cut] + invented_text(seed + 1, n_chars - cut)
    assert are_near_duplicates(sketch(left), sketch(right)) is (share > 0.5)


def test_a_shortened_copy_joins_its_original() -> None:
    whole = invented_text(3, 2500)
    assert grouped(("甲", whole), ("乙", invented_text(4, 2500)), ("丙", whole[:400])) == [0, 1, 0]


def test_short_texts_join_by_content_and_not_by_template() -> None:
    assert grouped(
        ("同一篇", "银杏书店开业。"),
        ("同一篇", "银杏书店开业。"),
        ("第3篇", "青禾3号开通。"),
        ("第4篇", "青禾4号开通。"),
    ) == [
        0,
        0,
        2,
        3,
    ]


def test_a_phrase_inside_a_long_text_joins_nothing() -> None:
    phrase = invented_text(5, 8)
    assert grouped(("", phrase), ("", invented_text(6, 700) + phrase)) == [0, 1]


def test_equal_titles_join_unless_they_are_short() -> None:
    one, two, three, four = (invented_text(seed, 300) for seed in range(4))
    assert grouped(("青禾咖啡宣布涨价", one), ("早报", two), ("青禾咖啡 宣布涨价！", three), ("早报", four)) == [
        0,
        1,
        0,
        3,
    ]


def test_empty_texts_stay_apart_and_equal_keys_stay_together() -> None:
    found = NearDuplicates()
    for key, text in (("b", ""), ("c", "。"), ("a", invented_text(1, 50)), ("b", invented_text(2, 50))):
        found.add(key, "", text)
    assert found.groups() == [0, 1, 2, 0]
    assert NearDuplicates().groups() == []


def test_boilerplate_joins_nothing_and_large_families_stay_whole() -> None:
    footer = invented_text(7, 100)
    story = invented_text(8, 600)
    others = [("", invented_text(100 + number, 500) + footer) for number in range(3 * NEIGHBOURS)]
    family = [("", story + invented_text(200 + number, 200) + footer) for number in range(3 * NEIGHBOURS)]
    groups = grouped(*(text for pair in zip(others, family, strict=True) for text in pair))
    assert groups[::2] == list(range(0, 2 * len(others), 2))
    assert set(groups[1::2]) == {1}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_groups_do_not_depend_on_the_order(data: st.DataObject) -> None:
    pool = [invented_text(seed, 60) for seed in range(4)]
    texts = data.draw(st.lists(st.tuples(st.sampled_from(pool), st.sampled_from(pool)), min_size=1, max_size=12))
    order = data.draw(st.permutations(range(len(texts))))
    straight, shuffled = NearDuplicates(), NearDuplicates()
    for index in range(len(texts)):
        straight.add(f"{index:02}", texts[index][0][:8], texts[index][0] + texts[index][1])
    for index in order:
        shuffled.add(f"{index:02}", texts[index][0][:8], texts[index][0] + texts[index][1])
    assert [order[group] for group in shuffled.groups()] == [straight.groups()[index] for index in order]


def test_a_copy_is_found_although_others_stand_between_in_every_shingle() -> None:
    """Each shingle of the story stands in an article that lies between the copies, so none has them side by side.

    The texts are so short that every shingle is in their sketches; a third of the story joins nothing.
    """
    story = invented_text(11, 60)
    between = [("", story[start : start + 24] + invented_text(20 + start, 44)) for start in (0, 18, 36)]
    assert all(len(sketch(text).hashes) == len(text) - 5 for _, text in [("", story), *between])
    assert grouped(("", story), *between, ("", story)) == [0, 1, 2, 3, 0]
