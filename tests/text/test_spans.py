from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.spans import Span, TagScheme

SCHEMES = [TagScheme("BIO"), TagScheme("BIESO"), TagScheme("BIO", ("POS", "NEG")), TagScheme("BIESO", ("POS", "NEG"))]
WELL_FORMED = {"BIO": r"(O|BI*)*", "BIESO": r"(O|S|BI*E)*"}


@st.composite
def spans_without_overlap(draw: st.DrawFn) -> tuple[TagScheme, list[Span], int]:
    scheme = draw(st.sampled_from(SCHEMES))
    spans, position = [], 0
    for gap, length in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=5)):
        label = draw(st.sampled_from(scheme.labels))
        spans.append(Span(position + gap, position + gap + length, label))
        position += gap + length
    return scheme, spans, position + draw(st.integers(0, 2))


@given(spans_without_overlap(), st.booleans())
def test_decoding_what_was_encoded_gives_the_spans(case: tuple[TagScheme, list[Span], int], strict: bool) -> None:
    scheme, spans, length = case
    assert scheme.decode(scheme.encode(spans, length), strict=strict) == spans


@given(st.sampled_from(SCHEMES), st.data())
def test_strict_decoding_never_raises_and_finds_what_a_pattern_finds(scheme: TagScheme, data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(scheme.tags), max_size=12))
    found = scheme.decode(tags)
    assert all(0 <= span.start < span.stop <= len(tags) for span in found)
    assert all(first.stop <= second.start for first, second in pairwise(found))
    if scheme.labels == ("",):
        pattern = "BI*" if scheme.name == "BIO" else "S|BI*E"
        assert [span[:2] for span in found] == [match.span() for match in re.finditer(pattern, "".join(tags))]


@pytest.mark.parametrize(
    ("name", "tags", "strict", "lenient"),
    [
        ("BIO", "O I I O B I I", [(4, 7)], [(1, 3), (4, 7)]),
        ("BIO", "B B I", [(0, 1), (1, 3)], [(0, 1), (1, 3)]),
        ("BIO", "B-POS I-NEG I-NEG", [(0, 1)], [(0, 1), (1, 3)]),
        ("BIESO", "B I O S E O B E B", [(3, 4), (6, 8)], [(0, 2), (3, 4), (4, 5), (6, 8), (8, 9)]),
        ("BIESO", "B-POS E-NEG S-POS", [(2, 3)], [(0, 1), (1, 2), (2, 3)]),
        ("BIESO", "I E", [], [(0, 2)]),
        ("BIO", "X B ? -", [(1, 2)], [(1, 2)]),
        ("BIO", "", [], []),
    ],
)
def test_decode_follows_its_policy_on_malformed_tags(
    name: str, tags: str, strict: list[tuple[int, int]], lenient: list[tuple[int, int]]
) -> None:
    scheme = TagScheme(name, ("", "POS", "NEG"))  # type: ignore[arg-type]
    assert [span[:2] for span in scheme.decode(tags.split())] == strict
    assert [span[:2] for span in scheme.decode(tags.split(), strict=False)] == lenient


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_the_constraints_allow_exactly_the_well_formed_sequences(scheme: TagScheme) -> None:
    def is_allowed(ids: tuple[int, ...]) -> bool:
        steps = pairwise(ids)
        return bool(
            scheme.may_begin[ids[0]] and scheme.may_end[ids[-1]] and all(scheme.allowed[step] for step in steps)
        )

    def is_well_formed(tags: list[str]) -> bool:
        parts = re.sub(r"\b(\w)-(\w)\w*", r"\1\2", " ".join(tags))  # "B-POS" -> "BP"
        entities = [r"B{0}( I{0})*" if scheme.name == "BIO" else r"(S{0}|B{0}( I{0})* E{0})"]
        choices = "|".join(["O", *(entities[0].format(label[:1]) for label in scheme.labels)])
        return re.fullmatch(rf"({choices})( ({choices}))*", parts) is not None

    n_tags = len(scheme.tags)
    for code in range(n_tags**3):
        ids = (code % n_tags, code // n_tags % n_tags, code // n_tags**2)
        assert is_allowed(ids) == is_well_formed([scheme.tags[tag] for tag in ids]), ids


@pytest.mark.parametrize("spans", [[(0, 2), (1, 3)], [(2, 2)], [(3, 5)], [(-1, 1)]])
def test_encode_refuses_spans_that_overlap_or_leave_the_text(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="overlaps another"):
        TagScheme("BIO").encode([Span(*span) for span in spans], 4)
