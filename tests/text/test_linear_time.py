"""Hostile texts take time in proportion to their length, and what is made of them is what the slow way made."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from html.entities import html5
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emotions.classifier.word_split import split_words
from pipeline.text import normalise
from pipeline.text.normalise import _SPECIAL, _decode_reference
from pipeline.text.segment import default_segmenter
from pipeline.text.sentences import split_sentences
from pipeline.text.spans import Span, choose_spans

references = st.lists(
    st.sampled_from(["&", "amp;", "amp", "AMP;", "lt;", "lt", "#38;", "#x26;", "#", "nbsp;", "notin", ";", "x", "甲"]),
    max_size=12,
).map("".join)


def old_decode_reference(reference: str) -> str:
    """Decode in one pass for each time that it was escaped: right, but quadratic."""
    decoded = html.unescape(reference)
    while decoded != reference and _SPECIAL.fullmatch(decoded):
        reference, decoded = decoded, html.unescape(decoded)
    return decoded


@given(references)
def test_references_decode_as_before(text: str) -> None:
    for match in _SPECIAL.finditer(f"&{text};"):
        if match.lastgroup == "reference":
            assert _decode_reference(match.group()) == old_decode_reference(match.group())


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_every_named_reference_decodes_as_before(depth: int) -> None:
    for name in html5:
        reference = f"&{'amp;' * depth}{name.removesuffix(';')};"
        assert _decode_reference(reference) == old_decode_reference(reference)


def least_time(work: Callable[[Any], Any], argument: Any) -> float:
    """Return the CPU time of the fastest of three runs, in seconds."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work(argument)
        times.append(time.process_time() - start)
    return min(times)


def check_linear(work: Callable[[Any], Any], make: Callable[[int], Any], n: int) -> None:
    """Four times the length may take up to nine times as long; a quadratic way takes sixteen times."""
    once, twice, four_times = (least_time(work, make(n * factor)) for factor in (1, 2, 4))
    assert twice < 3.5 * once + 0.02
    assert four_times < 9 * once + 0.04


@pytest.mark.parametrize(
    ("work", "unit", "n"),
    [
        (normalise, "amp;", 50_000),
        (normalise, "&amp;", 20_000),
        (normalise, "&#38;amp;lt;", 10_000),
        (normalise, "<a ", 1_000),
        (normalise, "http://甲", 5_000),
        (normalise, "㋀", 20_000),
        (split_words, "a中", 10_000),
        (split_words, "é中文n'", 5_000),
        (split_words, "n't", 20_000),
        (split_words, "-a", 20_000),
        (split_words, "1.", 20_000),
        (default_segmenter().cut, "a中", 10_000),
        (default_segmenter().cut, "中国人民", 5_000),
        (split_sentences, "《“", 10_000),
        (split_sentences, "。”", 10_000),
    ],
)
def test_time_is_in_proportion_to_the_length(work: Callable[[str], Any], unit: str, n: int) -> None:
    check_linear(work, lambda length: "&" + unit * length + ";", n)


def old_choose_spans(spans: list[Span]) -> tuple[list[Span], list[Span]]:
    """Compare each span with every one that was kept: right, but quadratic."""
    kept: list[Span] = []
    beaten: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.stop, span)):
        free = all(span.stop <= other.start or other.stop <= span.start for other in kept)
        (kept if free else beaten).append(span)
    return sorted(kept), beaten


places = st.tuples(st.integers(0, 15), st.integers(0, 6), st.sampled_from(["", "POS"]))


@given(st.lists(places, max_size=12))
def test_spans_are_chosen_as_before(drawn: list[tuple[int, int, str]]) -> None:
    spans = [Span(start, start + length, label) for start, length, label in drawn]
    assert choose_spans(spans) == old_choose_spans(spans)


def test_spans_are_chosen_in_linear_time() -> None:
    check_linear(choose_spans, lambda n: [Span(place, place + 1 + place % 3) for place in range(n)], 2_000)
