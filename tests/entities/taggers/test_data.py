from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.taggers.data import UNKNOWN_TAG, LabelReport, tag_counts, tag_text, tokenise_text, window_tags
from pipeline.nn.tokenisers import CharacterTokeniser
from pipeline.text.spans import LabelledText, Span, TagScheme, choose_spans

SCHEME = TagScheme("BIESO")
TOKENISER = CharacterTokeniser.fit([])
NAMES = {**dict(enumerate(SCHEME.tags)), UNKNOWN_TAG: "?"}


def tags_of(text: LabelledText, report: LabelReport | None = None) -> str:
    tagged = tag_text(text, TOKENISER, SCHEME, report)
    assert tagged.tags is not None
    return "".join(NAMES[int(tag)] for tag in tagged.tags)


def test_every_marked_span_is_tagged() -> None:
    assert tags_of(LabelledText("青禾科技与云", (Span(0, 4), Span(5, 6)))) == "BIIEOS"


def test_the_longest_of_overlapping_spans_wins_and_the_rest_of_the_other_is_masked() -> None:
    report = LabelReport()
    text = LabelledText("在南城大学附属医院里", (Span(1, 5), Span(3, 9), Span(5, 7)))
    assert tags_of(text, report) == "O??BIIIIEO"
    assert (report.n_spans, report.n_overlapping, report.n_misfit) == (3, 2, 0)
    assert "3 spans, of which 2 overlap" in str(report)


def test_a_span_that_cuts_a_token_is_masked_and_counted() -> None:
    report = LabelReport()
    assert tags_of(LabelledText("买 abc 好", (Span(2, 4),)), report) == "O?O"
    assert report.n_misfit == 1
    assert tags_of(LabelledText("买 abc 好", (Span(1, 5),)), report) == "O?O"  # begins with a blank
    assert tags_of(LabelledText("买 abc 好", (Span(2, 5),)), report) == "OSO"


def test_unknown_ranges_are_masked_but_not_over_known_spans() -> None:
    assert tags_of(LabelledText("青禾科技云杉", (Span(0, 2),), unknown=((1, 3),))) == "BE?OOO"


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=8))
def test_chosen_spans_do_not_overlap_and_each_beaten_one_meets_one_no_shorter(pairs: list[tuple[int, int]]) -> None:
    spans = [Span(start, start + length) for start, length in pairs]
    kept, beaten = choose_spans(spans)
    assert sorted([*kept, *beaten]) == sorted(spans)
    assert all(first.stop <= second.start for first, second in pairwise(kept))
    for start, stop, _ in beaten:
        assert any(k.start < stop and start < k.stop and k.stop - k.start >= stop - start for k in kept)


def test_a_separator_token_stands_between_title_and_content() -> None:
    tokens = tokenise_text(LabelledText("标题\n正文。", title_stop=2), TOKENISER)
    assert tokens.n_title == 2
    assert tokens.ids[2] == TOKENISER.special.separator
    assert list(zip(tokens.starts, tokens.stops, strict=True)) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    no_title = tokenise_text(LabelledText("\n正文", title_stop=0), TOKENISER)
    assert (no_title.n_title, len(no_title)) == (0, 2)
    assert len(tokenise_text(LabelledText("", title_stop=0), TOKENISER)) == 0


def test_reading_stops_where_it_is_told_to() -> None:
    tokens = tokenise_text(LabelledText("标题\n正文很长", title_stop=2), TOKENISER, max_chars=4)
    assert tokens.stops[-1] == 4


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [(0, 9, "OBIEOSBEO"), (0, 3, "O??"), (2, 5, "??O"), (2, 3, "?"), (4, 8, "OSBE"), (7, 9, "?O"), (4, 7, "OS?")],
)
def test_tags_of_an_entity_cut_by_the_edge_of_a_window_are_masked(first: int, last: int, wanted: str) -> None:
    tags = np.array([SCHEME.ids[tag] for tag in "OBIEOSBEO"])
    assert "".join(NAMES[int(tag)] for tag in window_tags(tags, SCHEME, first, last)) == wanted
    assert "?" not in "".join(NAMES[int(tag)] for tag in tags)


def test_adjacent_entities_are_not_taken_for_one() -> None:
    scheme = TagScheme("BIO", ("P", "N"))
    tags = np.array([scheme.ids[tag] for tag in ("B-P", "B-N", "I-N")])
    assert window_tags(tags, scheme, 1, 3).tolist() == tags[1:].tolist()
    assert window_tags(tags, scheme, 0, 1).tolist() == tags[:1].tolist()


def test_tags_are_counted_without_the_unknown() -> None:
    tagged = [tag_text(LabelledText("青禾科技", (Span(0, 2),), unknown=((2, 3),)), TOKENISER, SCHEME)]
    assert tag_counts(tagged, 5).tolist() == [1, 1, 0, 1, 0]
