"""Candidates: each source worked by hand, occurrences against naive loops, and offsets that are always exact."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config import CandidateConfig
from pipeline.entities.candidates import (
    FUNCTION_TAGS,
    LEAD_CHARS,
    CandidateGenerator,
    CandidateSet,
    Source,
    bare_key,
    locate,
)
from pipeline.schema import Article, Mention
from pipeline.text import Document, Segmenter, Words, default_segmenter, match_key
from pipeline.text.dictionary import Matcher, has_word_boundaries
from tests.support.located import located


class FakeSegmenter(Segmenter):
    """Known words, the longest first, and single characters; needs no dictionary file."""

    def __init__(self, tags: dict[str, str]) -> None:
        self._tags = tags

    def tags(self, words: Iterable[str]) -> list[str]:
        return [self._tags.get(word, "") for word in words]

    def cut(self, text: str) -> Words:
        forms, starts = [], [0]
        while starts[-1] < len(text):
            rest = text[starts[-1] :]
            forms.append(max((word for word in self._tags if rest.startswith(word)), key=len, default=rest[0]))
            starts.append(starts[-1] + len(forms[-1]))
        return Words(forms, starts)


TAGS = {"松果": "n", "手机": "n", "发布": "v", "的": "uj", "公司": "n", "和": "c", "新": "a", "了": "ul", "nova": "eng"}
FAKE = FakeSegmenter(TAGS)


def offers(
    title: str,
    content: str,
    *,
    dictionary: Iterable[str] = (),
    gold: Iterable[str] = (),
    segmenter: Segmenter = FAKE,
    **options: int,
) -> CandidateSet:
    generator = CandidateGenerator(
        CandidateConfig(**options),
        segmenter=segmenter,
        dictionary=Matcher(dictionary),
        gold_names=Matcher(gold),
    )
    return generator.generate(Document.of(Article("1", title, content)))


def from_source(found: CandidateSet, source: Source) -> set[str]:
    return {key for key, bits in zip(found.keys, found.sources.tolist(), strict=True) if bits & source}


# --- each source


def test_words_and_title_runs() -> None:
    found = offers("松果手机发布了", "")
    assert from_source(found, Source.WORD) == {"松果", "手机", "发布"}
    assert from_source(found, Source.WORDS) == {"松果手机", "松果手机发布", "手机发布"}
    assert found.keys == ["松果手机发布", "松果手机", "松果", "手机发布", "手机", "发布"]


def test_runs_neither_begin_nor_end_at_function_words_but_may_hold_them() -> None:
    found = offers("的松果和手机了", "")
    assert from_source(found, Source.WORDS) == {"松果和手机"}
    assert {"uj", "c", "ul"} <= FUNCTION_TAGS


def test_runs_stop_at_marks_and_go_on_over_joiners() -> None:
    assert from_source(offers("松果,手机", ""), Source.WORDS) == set()
    assert from_source(offers("松果-手机", ""), Source.WORDS) == {"松果-手机"}
    assert from_source(offers("松果·手机-", ""), Source.WORDS) == {"松果·手机"}


def test_far_runs_are_offered_when_repeated_or_named() -> None:
    far = "。" * LEAD_CHARS
    assert from_source(offers("", f"{far}松果发布。"), Source.WORDS) == set()
    assert from_source(offers("", f"{far}松果发布。松果发布。"), Source.WORDS) == {"松果发布"}
    assert from_source(offers("", f"{far}松果公司。"), Source.WORDS) == {"松果公司"}
    assert from_source(offers("", f"{far}松果的公司。"), Source.WORDS) == set()


def test_lead_runs_are_offered_when_nominal() -> None:
    assert from_source(offers("", "松果手机"), Source.WORDS) == {"松果手机"}
    assert from_source(offers("", "松果和手机"), Source.WORDS) == set()


@pytest.mark.parametrize(("max_words", "longest"), [(1, set()), (2, {"松果手机", "手机公司"}), (3, {"松果手机公司"})])
def test_runs_hold_at_most_max_words(max_words: int, longest: set[str]) -> None:
    found = from_source(offers("松果手机公司", "", max_words=max_words), Source.WORDS)
    assert longest == {key for key in found if len(key) == max(map(len, found))}


def test_words_and_runs_hold_at_most_max_chars() -> None:
    found = offers("松果手机公司nova手机", "", max_chars=4)
    assert from_source(found, Source.WORD) == {"松果", "手机", "公司", "nova"}
    assert from_source(found, Source.WORDS) == {"松果手机", "手机公司"}
    assert from_source(offers("", "a" * 21, segmenter=default_segmenter()), Source.WORD) == set()
    assert from_source(offers("", "a" * 20, segmenter=default_segmenter()), Source.WORD) == {"a" * 20}


def test_dictionary_and_gold_names() -> None:
    found = offers("红松果", "红松果汁", dictionary=["红松", "无"], gold=["松果汁", "松果"])
    assert from_source(found, Source.DICTIONARY) == {"红松"}
    assert from_source(found, Source.GOLD) == {"松果汁", "松果"}
    assert found.counts[found.keys.index("红松")] == 2


def test_titles_with_and_without_their_marks() -> None:
    found = offers("", "看《 红林 》与《》和《，》及《未完")
    assert from_source(found, Source.TITLE_MARKS) == {"《 红林 》", "红林"}


def test_quotations_and_brackets() -> None:
    found = offers("", '“红林”「蓝林」『绿林』【黑林】(白林)[灰林]‘紫林’"青林"“a”“红”“…”')
    assert from_source(found, Source.QUOTES) == {
        *("红林", "蓝林", "绿林", "黑林", "白林", "灰林", "紫林", "青林"),
        "红",
    }


def test_latin_runs() -> None:
    found = offers("", "买 Galaxy S10+ 和AT&amp;T,x,a")
    assert from_source(found, Source.LATIN) == {"galaxy s10+", "at&t"}


def test_latin_runs_hold_at_most_five_parts_and_max_chars() -> None:
    assert from_source(offers("", "a1 b2 c3 d4 e5 f6"), Source.LATIN) == {"a1 b2 c3 d4 e5", "f6"}
    assert from_source(offers("", "galaxy note pro", max_chars=10), Source.LATIN) == set()


def test_a_candidate_joins_its_sources() -> None:
    found = offers("nova", "“nova”《nova》", dictionary=["nova"], gold=["nova"])
    bits = Source.WORD | Source.DICTIONARY | Source.GOLD | Source.TITLE_MARKS | Source.QUOTES | Source.LATIN
    assert found.sources[found.keys.index("nova")] == bits


def test_a_name_with_a_line_break_never_joins_title_and_content() -> None:
    found = offers("红松", "果林", gold=["红松\n果林", "松\n果"], dictionary=["红松\n果林"])
    assert not any("\n" in key for key in found.keys)
    assert "红松\n果林" not in located(found.document, ["红松\n果林", "红松"], FAKE).keys


# --- the set


def test_mentions_and_surfaces_worked_by_hand() -> None:
    document = Document.of(Article("1", "ＮＯＶＡ来了", "Nova好,NOVA好,nova\u200b好,Nova&amp;"))
    found = located(document, ["nova", "nova&", "无"], FAKE)
    assert found.keys == ["nova", "nova&"]
    assert found.counts.tolist() == [5, 1]
    assert found.firsts.tolist() == [0, 25]
    assert found.lengths.tolist() == [4, 5]
    assert found.mentions(0)[0] == Mention("title", 0, 4, "ＮＯＶＡ")
    assert [mention.surface for mention in found.mentions(0)] == ["ＮＯＶＡ", "Nova", "NOVA", "nova", "Nova"]
    assert found.surface(0) == "Nova"
    assert found.surface(1) == "Nova&amp;"


def test_the_earlier_spelling_wins_a_tie() -> None:
    document = Document.of(Article("1", "", "NOVA,Nova,nova,Nova,NOVA"))
    assert located(document, ["nova"], FAKE).surface(0) == "NOVA"


def test_a_spelling_with_an_escaped_blank_is_not_written_out() -> None:
    found = offers("", "Nova&nbsp;2,Nova&nbsp;2,nova 2,Galaxy&nbsp;S")
    row = found.keys.index("nova 2")
    assert (found.counts[row], found.surface(row)) == (3, "nova 2")
    assert "galaxy s" not in found.keys


@pytest.mark.parametrize(
    ("key", "bare"),
    [("《松果》", "松果"), ("“松 果”", "松果"), ("松果", "松果"), ("《》", "《》"), ("(a) b", "ab"), ("[]【】x", "x")],
)
def test_bare_key(key: str, bare: str) -> None:
    assert bare_key(key) == bare


def random_articles(n: int, seed: int = 0) -> list[Article]:
    rng = random.Random(seed)
    pieces = [
        *"松果云杉海棠的了在和公司，。！？、：\n 《》“”()·-.&a1",
        "松果手机",
        "云杉研究所",
        "发布",
        "Nova 2",
        "北京",
    ]
    pieces += ["&amp;", "&nbsp;", "…", "½", "㈱", "\u200b", "<br/>", "www.a.cn/x", "😀", "Ｘ９", "&AB;", "é"]

    def text(most: int) -> str:
        return "".join(rng.choice(pieces) for _ in range(rng.randint(0, most)))

    return [Article(f"a{index}", text(12), text(80)) for index in range(n)]


GENERATOR = CandidateGenerator(
    CandidateConfig(),
    segmenter=default_segmenter(),
    dictionary=Matcher(["松果手机", "a", "杉研究"]),
    gold_names=Matcher(["果云", "1", "的", "松\n果", "公司\n松"]),
)


def test_locate_agrees_with_a_naive_search() -> None:
    rng = random.Random(1)
    for article in random_articles(60):
        document = Document.of(article)
        text = document.text
        wanted: dict[str, int] = {"不在此": 3}
        for _ in range(12):
            start = rng.randrange(len(text))
            wanted[text[start : start + rng.randint(1, 4)]] = rng.randrange(128)
        naive: dict[str, list[int]] = {}
        for key in wanted:
            for start in range(len(text)):
                if text.startswith(key, start) and has_word_boundaries(text, start, start + len(key)):
                    naive.setdefault(key, []).append(start)
        naive = {key: starts for key, starts in naive.items() if "\n" not in key}
        found = locate(document, default_segmenter().cut(text), wanted)
        assert found.keys == sorted(naive, key=lambda key: (naive[key][0], -len(key)))
        assert [[start for start, _ in found.spans(row)] for row in range(len(found))] == [
            naive[key] for key in found.keys
        ]
        assert found.sources.tolist() == [wanted[key] for key in found.keys]
        assert found.counts.tolist() == [len(naive[key]) for key in found.keys]
        assert found.firsts.tolist() == [naive[key][0] for key in found.keys]
        assert found.lengths.tolist() == [len(key) for key in found.keys]


def test_take_agrees_with_naive_selection() -> None:
    rng = random.Random(2)
    for article in random_articles(40):
        found = GENERATOR.generate(Document.of(article))
        rows = np.array(sorted(rng.sample(range(len(found)), rng.randint(0, len(found)))), dtype=np.int64)
        taken = found.take(rows)
        assert taken.keys == [found.keys[row] for row in rows]
        assert [taken.spans(index) for index in range(len(taken))] == [found.spans(row) for row in rows]
        assert taken.sources.tolist() == [int(found.sources[row]) for row in rows]
        assert taken.document is found.document
        assert (taken.starts.dtype, taken.offsets.dtype) == (found.starts.dtype, found.offsets.dtype)


def test_without_a_source_the_others_are_left_as_they_were() -> None:
    document = Document.of(Article("a", "", "松果手机，云杉"))
    both = int(Source.GOLD | Source.WORD)
    found = locate(
        document, default_segmenter().cut(document.text), {"松果": both, "手机": int(Source.GOLD), "云杉": 1}
    )
    rest = found.without(Source.GOLD)
    assert (rest.keys, rest.sources.tolist()) == (["松果", "云杉"], [1, 1])
    assert [rest.spans(row) for row in range(2)] == [found.spans(0), found.spans(2)]
    assert found.sources.tolist() == [both, int(Source.GOLD), 1]


fragments = st.sampled_from(
    [
        *"松果的了，。\n 《》“”()·-.&;<>a1",
        "松果手机",
        "Nova 2",
        "&amp;",
        "&lt;",
        "…",
        "½",
        "㈱",
        "\u200b",
        "<br/>",
        "www.a.cn",
    ]
)
fields = st.lists(fragments | st.text(st.characters(exclude_categories=()), max_size=3), max_size=14).map("".join)


@settings(max_examples=60)
@given(fields, fields)
def test_every_candidate_of_any_article_is_exact(title: str, content: str) -> None:
    article = Article("1", title, content)
    document = Document.of(article)
    found = GENERATOR.generate(document)
    assert len(set(found.keys)) == len(found)
    assert (found.counts >= 1).all()
    assert (found.sources > 0).all()
    order = [(first, -len(key)) for first, key in zip(found.firsts.tolist(), found.keys, strict=True)]
    assert order == sorted(order)
    for row, key in enumerate(found.keys):
        assert any(char.isalnum() for char in key) or found.sources[row] & Source.TITLE_MARKS
        assert "\n" not in key
        spans, mentions = found.spans(row), found.mentions(row)
        assert spans == sorted(set(spans))
        for (start, stop), mention in zip(spans, mentions, strict=True):
            assert document.text[start:stop] == key
            assert stop < document.content_start or start >= document.content_start
            assert (mention.field == "title") == (start < document.content_start)
            assert mention.surface == article.field(mention.field)[mention.start : mention.end]
        assert Counter(mention.surface for mention in mentions)[found.surface(row)] == max(
            Counter(mention.surface for mention in mentions).values()
        )


def test_surfaces_read_back_as_their_key() -> None:
    """So that stage two finds a chosen entity again; characters that expand (½) may take their neighbours along."""
    n_seen = 0
    for article in random_articles(60, seed=3):
        found = GENERATOR.generate(Document.of(article))
        for row, key in enumerate(found.keys):
            if not set(found.surface(row)) & set("½㈱…"):
                n_seen += 1
                assert match_key(found.surface(row)) == key
    assert n_seen > 1000


def test_does_not_depend_on_what_was_generated_before() -> None:
    articles = random_articles(10)
    first = [GENERATOR.generate(Document.of(article)) for article in articles]
    again = [GENERATOR.generate(Document.of(article)) for article in reversed(articles)][::-1]
    assert [found.keys for found in first] == [found.keys for found in again]
    assert [found.sources.tolist() for found in first] == [found.sources.tolist() for found in again]


# --- extreme articles


@pytest.mark.parametrize(
    ("title", "content", "keys"),
    [
        ("", "", []),
        ("松", "", []),
        ("", "。", []),
        ("a", "1", []),
        ("😀😀", "👨\u200d👩😀", []),
        ("\n\n", "\u200b", []),
        ("\ud800", "<br/>", []),
        ("ＯＮＬＹ latin", "", ["only latin", "only", "latin"]),
    ],
)
def test_smallest_articles(title: str, content: str, keys: list[str]) -> None:
    found = offers(title, content, segmenter=default_segmenter())
    assert found.keys == keys
    assert len(found.offsets) == len(keys) + 1
    assert (found.counts.tolist(), found.firsts.tolist()) == ([1] * len(keys), [0, 0, 5][: len(keys)])


@pytest.mark.parametrize(
    "content",
    [
        "松果云杉海棠" * 3400,
        "发布了新的手机公司" * 2300,
        "a" * 20_000,
        "ab " * 7000,
        "松-" * 10_000,
        "“" * 20_000,
        "一" * 20_000,
    ],
    ids=["unknown words", "known words", "one Latin word", "Latin words", "joiners", "opening marks", "one character"],
)
def test_20000_characters_without_punctuation(content: str) -> None:
    started = time.perf_counter()
    found = offers("", content, segmenter=default_segmenter())
    assert time.perf_counter() - started < 20
    assert max(map(len, found.keys), default=0) <= CandidateConfig().max_chars
