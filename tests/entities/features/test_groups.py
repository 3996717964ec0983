"""Every column of the feature groups against a slow plain-Python reading of its description."""

from __future__ import annotations

import math
import random
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from pipeline.config import CandidateConfig
from pipeline.entities.candidates import NAME_SUFFIXES, CandidateGenerator, CandidateSet, Source
from pipeline.entities.features import FeatureContext
from pipeline.entities.features.context import rank_descending
from pipeline.entities.features.groups import GROUPS, neighbours, nesting, positions, shape, tagger, title, words
from pipeline.schema import Article
from pipeline.text import Document, default_segmenter
from pipeline.text.dictionary import Matcher
from pipeline.text.spans import ScoredSpan
from tests.support.located import located

SEGMENTER = default_segmenter()
GENERATOR = CandidateGenerator(
    CandidateConfig(),
    segmenter=SEGMENTER,
    dictionary=Matcher(["松果手机", "杉研究", "果手"]),
    gold_names=Matcher(["果云", "1", "云"]),
)
TAG_CLASSES = ("n", "nr", "ns", "nt", "nz", "v", "a", "m", "eng", "j", "other", "unknown")
N_RANDOM = 80


def random_articles(n: int, seed: int) -> list[Article]:
    rng = random.Random(seed)
    pieces = [
        *"松果云杉王海棠的了在和，。！?：;\n 《》“”()·-&a1.",
        "松果手机",
        "云杉研究所",
        "检察院",
        "发布",
        "上海",
        "Nova 2",
        "很好",
    ]
    pieces += ["《松果》", "“云杉”", "&amp;", "…", "\u200b", "😀", "é", "Ｘ９", "。\n"]

    def text(most: int) -> str:
        return "".join(rng.choice(pieces) for _ in range(rng.randint(0, most)))

    return [Article(f"a{index}", text(10), text(70), truncated=rng.random() < 0.5) for index in range(n)]


def context_of(article: Article, keys: list[str] | None = None) -> FeatureContext:
    document = Document.of(article)
    found = GENERATOR.generate(document) if keys is None else located(document, keys, SEGMENTER)
    return FeatureContext(found, SEGMENTER)


def column(context: FeatureContext, group: object, name: str) -> dict[str, float]:
    values = group(context)[name]  # type: ignore[operator]
    return {key: float(value) for key, value in zip(context.candidates.keys, values, strict=True)}


# --- the oracle


def ranks(values: list[float]) -> list[int]:
    return [sum(other > value for other in values) for value in values]


def entropy(chars: list[str]) -> float:
    shares = [chars.count(char) / len(chars) for char in set(chars)]
    return -sum(share * math.log(share) for share in shares)


def tag_class(tag: str) -> int:
    if not tag:
        return TAG_CLASSES.index("unknown")
    return next((TAG_CLASSES.index(tag[:n]) for n in (len(tag), 2, 1) if tag[:n] in TAG_CLASSES), 10)


def suffix(key: str) -> float:
    ranks_of = [(len(ending), index) for index, ending in enumerate(NAME_SUFFIXES) if key.endswith(ending)]
    longest = max((length for length, _ in ranks_of), default=0)
    return max((index for length, index in ranks_of if length == longest), default=math.nan)


def share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def oracle(found: CandidateSet) -> dict[str, list[float]]:
    """Return every column of GROUPS by name, from the text, the keys and their spans alone."""
    document, text = found.document, found.document.text
    title_text, content_start, n_chars = document.title.text, document.content_start, len(document.text)
    sentences = document.sentences
    forms, bounds = found.words.forms, found.words.starts
    word_at = [index for index, form in enumerate(forms) for _ in form]
    keys = found.keys
    spans = [found.spans(row) for row in range(len(found))]
    all_spans = [(start, stop, row) for row in range(len(found)) for start, stop in spans[row]]
    by_name: dict[str, list[float]] = {}

    def put(name: str, value: float) -> None:
        by_name.setdefault(name, []).append(float(value))

    def sentence_of(position: int) -> int:
        return next(index for index, (start, stop) in enumerate(sentences) if start <= position < stop)

    def char(position: int) -> str:
        return text[position] if 0 <= position < n_chars else "\n"

    def word_class(index: int) -> int:
        return tag_class(SEGMENTER.tag(forms[index])) if 0 <= index < len(forms) else TAG_CLASSES.index("unknown")

    def covered(start: int, stop: int, rows: set[int]) -> bool:
        return any(
            row in rows and other_start <= start and stop <= other_stop and (other_start, other_stop) != (start, stop)
            for other_start, other_stop, row in all_spans
        )

    repeated = {row for row in range(len(found)) if len(spans[row]) > 1}
    names = {row for row in range(len(found)) if found.sources[row] & (Source.DICTIONARY | Source.TITLE_MARKS)}
    tfs = [len(one) for one in spans]
    title_tfs = [sum(start < content_start for start, _ in one) for one in spans]
    for row, key in enumerate(keys):
        own, tf, length = spans[row], tfs[row], len(key)
        starts = [start for start, _ in own]
        in_content = [start for start in starts if start >= content_start]
        # counts
        put("counts.tf", tf)
        put("counts.tf_share", tf / max(tfs))
        put("counts.tf_density", tf * length / n_chars)
        put("counts.content_tf", len(in_content))
        put("counts.lead_tf", sum(start < content_start + 300 for start in starts))
        # title
        put("title.title_tf", title_tfs[row])
        put("title.title_position", starts[0] / len(title_text) if title_tfs[row] else math.nan)
        put("title.title_share", length / len(title_text) if title_tfs[row] else 0)
        pairs = [key[index : index + 2] for index in range(length - 1)] if length > 1 else [key]
        put("title.title_overlap", share([pair in title_text for pair in pairs]))
        # positions
        put("positions.first", starts[0])
        put("positions.first_share", starts[0] / n_chars)
        put("positions.first_content", in_content[0] - content_start if in_content else math.nan)
        put("positions.last_share", starts[-1] / n_chars)
        put("positions.spread", (starts[-1] - starts[0]) / n_chars)
        put("positions.mean_position", sum(starts) / tf / n_chars)
        within = {sentence_of(start) for start in starts}
        put("positions.n_sentences", len(within))
        put("positions.sentence_share", len(within) / len(sentences))
        put("positions.in_last_sentence", len(sentences) - 1 in within)
        put("positions.first_half_share", share([start < n_chars / 2 for start in starts]))
        put(
            "positions.sentence_start_share",
            share([start - sentences[sentence_of(start)][0] <= 1 for start in starts]),
        )
        # shape
        n_latin = sum(char in "abcdefghijklmnopqrstuvwxyz" for char in key)
        n_digits = sum(char.isdigit() for char in key)
        put("shape.length", length)
        put("shape.n_latin", n_latin)
        put("shape.n_digits", n_digits)
        put("shape.n_other", length - n_latin - n_digits - sum("\u4e00" <= char <= "\u9fff" for char in key))
        put("shape.has_blank", " " in key)
        put("shape.has_marks", unicodedata.category(key[0]).startswith("P"))
        put("shape.looks_like_person", key[0] == "王" and length in (2, 3))  # the one surname among the pieces
        put("shape.suffix", suffix(key))
        put("shape.repeats_character", any(key.count(char) > 1 for char in key))
        # words
        firsts = [word_at[start] for start in starts]
        lasts = [word_at[stop - 1] for _, stop in own]
        put("words.whole_tag", tag_class(SEGMENTER.tag(key)))
        put("words.first_tag", word_class(firsts[0]))
        put("words.last_tag", word_class(lasts[0]))
        put("words.n_words", lasts[0] - firsts[0] + 1)
        put("words.aligned_share", share([start in bounds and stop in bounds for start, stop in own]))
        befores, afters = [word_class(first - 1) for first in firsts], [word_class(last + 1) for last in lasts]
        put("words.verb_after_share", share([TAG_CLASSES[after] == "v" for after in afters]))
        put("words.verb_before_share", share([TAG_CLASSES[before] == "v" for before in befores]))
        put("words.noun_after_share", share([TAG_CLASSES[after][0] == "n" for after in afters]))
        put("words.noun_before_share", share([TAG_CLASSES[before][0] == "n" for before in befores]))
        put("words.corpus_frequency", SEGMENTER.log_frequencies([key])[0])
        # nesting
        put("nesting.free_share", 1 - share([covered(*span, repeated) for span in own]))
        put("nesting.free_of_names_share", 1 - share([covered(*span, names) for span in own]))
        inside = [other for other, part in enumerate(keys) if other != row and len(part) > 1 and part in key]
        around = [other for other, whole in enumerate(keys) if other != row and length > 1 and key in whole]
        put("nesting.inner_ratio", max((tfs[other] for other in inside), default=0) / tf)
        put("nesting.outer_ratio", max((tfs[other] for other in around), default=0) / tf)
        put(
            "nesting.n_outer",
            sum(keys[other].startswith(key, at) for other in around for at in range(len(keys[other]))),
        )
        # neighbours
        lefts, rights = [char(start - 1) for start, _ in own], [char(stop) for _, stop in own]
        put("neighbours.left_entropy", entropy(lefts))
        put("neighbours.right_entropy", entropy(rights))
        put("neighbours.opened_share", share([left in "《“「『‘【[(\"'" for left in lefts]))
        put("neighbours.book_share", share([char(start - 1) + char(stop) == "《》" for start, stop in own]))
        put("neighbours.de_after_share", share([right == "的" for right in rights]))
        put("neighbours.comma_after_share", share([right in ",。、;:!?\n" for right in rights]))
        put("neighbours.comma_before_share", share([left in ",。、;:!?\n " for left in lefts]))
        # sources, document
        for source in Source:
            put(f"sources.from_{source.name.lower()}", bool(found.sources[row] & source))  # type: ignore[union-attr]
        put("document.document_length", n_chars)
        put("document.n_document_sentences", len(sentences))
        put("document.title_length", len(title_text))
        put("document.n_candidates", len(keys))
        put("document.is_truncated", document.article.truncated)
        put("document.max_tf", max(tfs))
    by_name["counts.tf_rank"] = ranks(tfs)
    by_name["counts.tf_length_rank"] = ranks([tf * np.log1p(len(key)) for tf, key in zip(tfs, keys, strict=True)])
    by_name["title.title_rank"] = ranks([tf if n else 0 for tf, n in zip(tfs, title_tfs, strict=True)])
    by_name["title.title_longest_rank"] = ranks([len(key) if n else 0 for key, n in zip(keys, title_tfs, strict=True)])
    by_name["positions.first_rank"] = ranks([-one[0][0] for one in spans])
    return by_name


@pytest.mark.parametrize("seed", range(4))
def test_every_column_agrees_with_the_oracle(seed: int) -> None:
    n_candidates = 0
    for article in random_articles(N_RANDOM // 4, seed):
        context = context_of(article)
        n_candidates += len(context.candidates)
        columns = {f"{group.__name__}.{name}": value for group in GROUPS for name, value in group(context).items()}
        if not len(context.candidates):
            assert all(value.shape == (0,) for value in columns.values())
            continue
        expected = oracle(context.candidates)
        assert columns.keys() == expected.keys()
        for name, value in columns.items():
            assert value.shape == (len(context.candidates),), name
            np.testing.assert_allclose(
                value.astype(np.float64), expected[name], rtol=1e-9, atol=1e-9, err_msg=f"{name} of {article}"
            )
    assert n_candidates > 300


def test_tagger_columns_exist_only_in_a_run_with_a_tagger() -> None:
    context = context_of(Article("1", "松果手机", "松果手机。云杉。松果手机"), ["松果手机", "松果", "云杉"])
    assert tagger(context) == {}
    silent = tagger(FeatureContext(replace(context.candidates, tagged=[]), SEGMENTER))
    assert not any(values.any() for values in silent.values())
    spans = [ScoredSpan(0, 4, 0.5), ScoredSpan(13, 17, 0.9), ScoredSpan(0, 2, 0.25)]
    scored = tagger(FeatureContext(replace(context.candidates, tagged=spans), SEGMENTER))
    assert context.candidates.keys == ["松果手机", "松果", "云杉"]
    assert scored["max"].tolist() == [0.9, 0.25, 0]
    assert scored["n"].tolist() == [2, 1, 0]
    assert scored["title_max"].tolist() == [0.5, 0.25, 0]
    assert scored["rival_max"].tolist() == [0.25, 0.9, 0]


# --- worked by hand


def test_rank_descending() -> None:
    assert rank_descending(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [0, 3, 0, 2]
    assert rank_descending(np.array([])).tolist() == []


def test_title_overlap_counts_pairs() -> None:
    context = context_of(Article("1", "松果手册", "松果手机,云杉,松"), ["松果手机", "云杉", "松"])
    assert column(context, title, "title_overlap") == {"松果手机": pytest.approx(2 / 3), "云杉": 0, "松": 1}


def test_positions_of_a_name_in_the_title_only() -> None:
    context = context_of(Article("1", "松果来", "云杉。云杉云杉。"), ["松果", "云杉"])
    assert math.isnan(column(context, positions, "first_content")["松果"])
    assert column(context, positions, "first_content")["云杉"] == 0
    assert column(context, positions, "n_sentences") == {"松果": 1, "云杉": 2}
    assert column(context, positions, "in_last_sentence") == {"松果": 0, "云杉": 1}


def test_the_longest_suffix_counts() -> None:
    names = ["云杉研究所", "云杉检察院", "云杉委员会", "云杉公司", "云杉局", "云杉"]
    found = column(context_of(Article("1", "", ",".join(names)), names), shape, "suffix")
    endings = [NAME_SUFFIXES.index(ending) for ending in ("研究所", "检察院", "委员会", "公司", "局")]
    assert [found[name] for name in names[:-1]] == endings
    assert math.isnan(found["云杉"])


def test_the_edges_of_the_text_are_no_words() -> None:
    context = context_of(Article("1", "北京", ""), ["北京"])
    assert column(context, words, "noun_before_share") == {"北京": 0}
    context = context_of(Article("1", "", "北京"), ["北京"])
    assert column(context, words, "noun_after_share") == {"北京": 0}
    context = context_of(Article("1", "", "北京公司"), ["北京", "公司"])
    assert column(context, words, "noun_after_share") == {"北京": 1, "公司": 0}
    assert column(context, words, "noun_before_share") == {"北京": 0, "公司": 1}


def test_nesting_of_parts() -> None:
    context = context_of(Article("1", "", "松果手机,松果手机,松果,手机"), ["松果手机", "松果", "手机"])
    assert column(context, nesting, "free_share") == {
        "松果手机": 1,
        "松果": pytest.approx(1 / 3),
        "手机": pytest.approx(1 / 3),
    }
    assert column(context, nesting, "inner_ratio") == {"松果手机": 1.5, "松果": 0, "手机": 0}
    assert column(context, nesting, "n_outer") == {"松果手机": 0, "松果": 1, "手机": 1}


def test_entropy_of_neighbours() -> None:
    context = context_of(Article("1", "", "甲松果乙。甲松果丙。丁松果乙。甲松果乙"), ["松果"])
    expected = -(3 / 4 * math.log(3 / 4) + 1 / 4 * math.log(1 / 4))
    assert column(context, neighbours, "left_entropy")["松果"] == pytest.approx(expected)
    assert column(context, neighbours, "right_entropy")["松果"] == pytest.approx(expected)
    once = context_of(Article("1", "", "松果"), ["松果"])
    assert column(once, neighbours, "left_entropy") == column(once, neighbours, "right_entropy") == {"松果": 0}
