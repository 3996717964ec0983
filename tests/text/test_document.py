"""Title and content as one text: offsets, sentences, and the way back to the two fields."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.schema import Article, Mention
from pipeline.text import SEPARATOR, Document, normalise

fields = st.lists(
    st.sampled_from(
        ["松果", "云杉。", "…", "&amp;", "&lt;", "<br/>", "www.a.cn ", "\u200b", "　 ", "\n", "ﬁ", "A", "😀", "！"]
    ),
    max_size=10,
).map("".join)


def document(title: str, content: str) -> Document:
    return Document.of(Article("1", title, content))


def test_worked_by_hand() -> None:
    found = document("松果ＮＯＶＡ", "云杉…\u200b好。\n松果&amp;云杉")
    assert found.text == "松果nova\n云杉...好。\n松果&云杉"
    assert found.content_start == 7
    assert [found.text[a:b] for a, b in found.sentences] == ["松果nova\n", "云杉...", "好。\n", "松果&云杉"]
    assert found.mention(0, 2) == Mention("title", 0, 2, "松果")
    assert found.mention(2, 6) == Mention("title", 2, 6, "ＮＯＶＡ")
    assert found.mention(7, 9) == Mention("content", 0, 2, "云杉")
    assert found.mention(9, 10) == found.mention(11, 12) == Mention("content", 2, 3, "…")
    assert found.mention(15, 20) == Mention("content", 7, 16, "松果&amp;云杉")


@pytest.mark.parametrize(("title", "content"), [("", ""), ("", "松"), ("松", ""), ("\u200b", "\u200b"), ("😀", "😀")])
def test_smallest_articles(title: str, content: str) -> None:
    found = document(title, content)
    assert found.text == normalise(title).text + SEPARATOR + normalise(content).text
    assert found.sentences[0][0] == 0
    assert found.sentences[-1][1] == len(found.text)
    assert found.text[found.content_start :] == normalise(content).text


@given(fields, fields)
def test_sentence_at_agrees_with_a_search(title: str, content: str) -> None:
    found = document(title, content)
    for position in range(len(found.text)):
        holders = [index for index, (start, stop) in enumerate(found.sentences) if start <= position < stop]
        assert [found.sentence_at(position)] == holders


@given(fields, fields)
def test_no_sentence_holds_both_title_and_content(title: str, content: str) -> None:
    found = document(title, content)
    for start, stop in found.sentences:
        if start < len(found.title.text):
            assert not found.text[found.content_start : stop].strip("\n")


@given(fields, fields, st.data())
def test_mentions_are_slices_of_the_field_they_lie_in(title: str, content: str, data: st.DataObject) -> None:
    found = document(title, content)
    for name, part, shift in (("title", found.title, 0), ("content", found.content, found.content_start)):
        if not part.text:
            continue
        start = data.draw(st.integers(0, len(part.text) - 1))
        stop = data.draw(st.integers(start + 1, len(part.text)))
        mention = found.mention(start + shift, stop + shift)
        assert mention.field == name
        assert mention.surface == found.article.field(mention.field)[mention.start : mention.end]
        assert (mention.start, mention.end) == part.raw_span(start, stop)


@given(st.text("松a\u3000ＡＢ½…&amp; \u200b\n", max_size=20), st.text("松果aＡ&lt; \u200b\n\ud800", max_size=30))
def test_a_span_as_written_has_its_text_as_surface(title: str, content: str) -> None:
    document = Document.of(Article("1", title, content))
    n = len(document.text)
    spans = [(start, stop) for start in range(n) for stop in range(start + 1, n + 1)]
    starts, stops = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    for (start, stop), as_written in zip(spans, document.is_as_written(starts, stops).tolist(), strict=True):
        if as_written:
            assert document.surface(start, stop) == document.text[start:stop]


def test_plain_text_is_as_written_and_what_was_changed_is_not() -> None:
    document = Document.of(Article("1", "松果ＡＢ", "云杉"))
    starts, stops = np.array([0, 0, 5]), np.array([2, 3, 7])
    assert document.is_as_written(starts, stops).tolist() == [True, False, True]
