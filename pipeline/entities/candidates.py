"""Candidate entities of one article: words, word runs, dictionary names, titles, quotations, Latin names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from pipeline.config import CandidateConfig
from pipeline.schema import Mention
from pipeline.text import SEPARATOR, Document, Segmenter, Words
from pipeline.text.dictionary import Matcher, has_word_boundaries, occurrences
from pipeline.text.spans import ScoredSpan


class Source(IntFlag):
    """Where a candidate came from; a candidate may have several."""

    WORD = 1
    WORDS = 2
    """A run of adjacent words."""
    DICTIONARY = 4
    GOLD = 8
    """A gold entity of the training articles."""
    TITLE_MARKS = 16
    """The text between 《 and 》, or with its marks."""
    QUOTES = 32
    """The text between quotation marks or brackets."""
    LATIN = 64
    """A run of Latin letters and digits, inner blanks included."""
    TAGGER = 128
    """A span that the tagger scored."""


FUNCTION_TAGS = frozenset(
    {"c", "d", "e", "o", "p", "r", "rg", "rr", "rz", "u", "ud", "ug", "uj", "ul", "uv", "uz", "y"}
)
"""jieba's tags of words at which no entity begins or ends (conjunctions, particles, pronouns ...)."""

# fmt: off
NAME_SUFFIXES = (
    "公司", "集团", "大学", "学院", "学校", "中学", "小学", "医院", "银行", "基金", "协会", "学会", "委员会",
    "研究院", "研究所", "中心", "法院", "检察院", "政府", "部", "局", "厅", "委", "省", "市", "县", "区", "镇",
    "村", "街", "路", "港", "山", "岛", "江", "河", "湖", "馆", "店", "厂", "社", "队", "团", "台", "网", "报",
    "奖", "赛", "杯", "展", "展览会", "博览会", "论坛", "大会", "大赛", "系统", "技术", "平台", "系列", "协议",
    "计划", "项目", "工程", "行业", "产业", "市场", "机场", "车站", "专线", "战役", "系", "版", "号", "剂",
    "树", "鱼",
)
# fmt: on
"""Endings of organisations, places, events and the like; a run of words with such an ending is offered even once."""

LEAD_CHARS = 300
"""Start of the content in which noun phrases are offered even where they occur once."""

NOMINAL = frozenset("nvajbmqlitezxhkgs")
"""First letters of the tags of words that may stand inside a noun phrase."""

_JOINERS = frozenset(" -·•&+.#'/_:~—")
_TITLE_MARKS = re.compile(r"《([^《》\n]{1,40})》")
_QUOTES = re.compile(r"[“「『‘\"【\[(]([^“”「」『』‘’\"【】\[\]()\n]{1,20})[”」』’\"】\])]")
_LATIN_UNIT = r"[a-z0-9][a-z0-9.+#&'·_/-]*"
_LATIN = re.compile(rf"{_LATIN_UNIT}(?: {_LATIN_UNIT}){{0,4}}")
_MARKS = str.maketrans("", "", "《》“”‘’「」『』\"'[]【】()〈〉 ")


def bare_key(key: str) -> str:
    """Return a key without title marks, quotes, brackets and blanks: spellings of one name share it."""
    return key.translate(_MARKS) or key


@dataclass(frozen=True)
class CandidateSet:
    """The candidates of one article, as columns.

    ``keys`` are normalised names in order of first occurrence, the longer first. Candidate ``i`` occurs at
    ``starts[offsets[i]:offsets[i + 1]]`` (offsets into ``document.text``, rising, at least one).
    """

    document: Document
    words: Words
    keys: list[str]
    sources: np.ndarray
    """int64 (n_candidates,): bits of ``Source``."""
    starts: np.ndarray
    """int32 (n_occurrences,)."""
    offsets: np.ndarray
    """int64 (n_candidates + 1,)."""
    tagged: Sequence[ScoredSpan] | None = None
    """The article's spans as the tagger scored them; None without a tagger."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def counts(self) -> np.ndarray:
        """Occurrences of each candidate: int64 (n_candidates,)."""
        return np.diff(self.offsets)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Characters of each key: int64 (n_candidates,)."""
        return np.fromiter((len(key) for key in self.keys), np.int64, len(self.keys))

    @property
    def firsts(self) -> np.ndarray:
        """First occurrence of each candidate: int32 (n_candidates,)."""
        return self.starts[self.offsets[:-1]]

    def spans(self, index: int) -> list[tuple[int, int]]:
        """Return the half-open spans of a candidate in ``document.text``."""
        length = len(self.keys[index])
        return [
            (int(start), int(start) + length) for start in self.starts[self.offsets[index] : self.offsets[index + 1]]
        ]

    def mentions(self, index: int) -> tuple[Mention, ...]:
        """Return the occurrences of a candidate in the untouched fields."""
        return tuple(self.document.mention(start, stop) for start, stop in self.spans(index))

    def surface(self, index: int) -> str:
        """Return the spelling to write out: the most frequent slice of the article, the earlier at a tie."""
        if self._is_as_written[index]:
            return self.keys[index]
        spans = self.spans(index)
        if len(spans) > 1:
            spans = [span for span in spans if not self.document.has_reference_blank(*span)] or spans
        return Counter(self.document.surface(*span) for span in spans).most_common(1)[0][0]

    @cached_property
    def _is_as_written(self) -> list[bool]:
        """Whether all occurrences of each candidate are written as its key."""
        stops = self.starts + np.repeat(self.lengths, self.counts)
        plain: list[bool] = np.logical_and.reduceat(
            self.document.is_as_written(self.starts, stops), self.offsets[:-1]
        ).tolist()
        return plain

    def take(self, rows: np.ndarray) -> CandidateSet:
        """Return the candidates of the given rising row numbers."""
        counts = self.counts[rows]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        flat = np.repeat(self.offsets[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
        return replace(
            self,
            keys=[self.keys[row] for row in rows],
            sources=self.sources[rows],
            starts=self.starts[flat],
            offsets=offsets,
        )

    def without(self, source: Source) -> CandidateSet:
        """Return the candidates as if one source had not been there."""
        others = self.sources & ~int(source)
        return replace(self, sources=others).take(np.flatnonzero(others))


class CandidateGenerator:
    """Offers candidates for an article.

    Args:
        config: bounds on candidates.
        segmenter: word segmentation and parts of speech.
        dictionary: names to match (normalised).
        gold_names: gold entities of the training articles (normalised), matched likewise.
    """

    def __init__(
        self,
        config: CandidateConfig,
        *,
        segmenter: Segmenter,
        dictionary: Matcher | None = None,
        gold_names: Matcher | None = None,
    ) -> None:
        self.config = config
        self.segmenter = segmenter
        self._matchers = [
            (source, matcher)
            for source, matcher in ((Source.DICTIONARY, dictionary), (Source.GOLD, gold_names))
            if matcher is not None
        ]
        self._facts = lru_cache(maxsize=2**16)(self._describe_word)

    def generate(self, document: Document, tagged: Iterable[str] = ()) -> CandidateSet:
        """Return every candidate of an article, in order of first occurrence; ``tagged`` are the tagger's."""
        words = self.segmenter.cut(document.text)
        sources: dict[str, int] = {}
        for source, keys in self._offers(document, words):
            bit = int(source)
            for key in keys:
                sources[key] = sources.get(key, 0) | bit
        for key in tagged:
            if len(key) <= self.config.max_chars:
                sources[key] = sources.get(key, 0) | Source.TAGGER
        found = locate(document, words, sources)
        if not document.has_reference_blank(0, len(document.text)):
            return found
        # What stands only where a blank is written as a reference ("&nbsp;") has no spelling to write out.
        spelt = [not all(document.has_reference_blank(*span) for span in found.spans(row)) for row in range(len(found))]
        return found.take(np.flatnonzero(spelt))

    def _offers(self, document: Document, words: Words) -> Iterator[tuple[Source, Iterable[str]]]:
        text, max_chars = document.text, self.config.max_chars
        yield from self._words(document, words)
        for source, matcher in self._matchers:
            yield source, {text[start:stop] for start, stop in matcher.find(text)}
        for match in _TITLE_MARKS.finditer(text):
            yield Source.TITLE_MARKS, _trimmed(match.group(), match[1])
        yield Source.QUOTES, _trimmed(*(match[1] for match in _QUOTES.finditer(text)))
        runs = (match.group() for match in _LATIN.finditer(text))
        yield Source.LATIN, _trimmed(*(run.rstrip(".&'·_/- ") for run in runs if len(run) <= max_chars))

    def _words(self, document: Document, words: Words) -> Iterator[tuple[Source, Iterable[str]]]:
        """Yield words, and runs of words that stand in the title, occur again, or look like a name."""
        starts, text, max_chars = words.starts, document.text, self.config.max_chars
        content_start, lead_stop = document.content_start, document.content_start + LEAD_CHARS
        facts = [self._facts(form) for form in words.forms]
        yield Source.WORD, {form for form, fact in zip(words.forms, facts, strict=True) if fact.is_candidate}
        named: set[str] = set()
        runs: list[str] = []
        for first, fact in enumerate(facts):
            if not fact.is_edge:
                continue
            start, n_words, nominal = starts[first], 1, fact.is_noun
            longest = start + max_chars
            for last in range(first + 1, len(facts)):
                fact = facts[last]
                if not fact.is_word:
                    if fact.joins:
                        continue
                    break
                n_words += 1
                stop = starts[last + 1]
                if n_words > self.config.max_words or stop > longest:
                    break
                nominal = nominal and fact.is_noun
                if fact.is_edge:
                    run = text[start:stop]
                    runs.append(run)
                    if stop <= content_start or (nominal and (stop <= lead_stop or fact.ends_name)):
                        named.add(run)
        yield Source.WORDS, named
        yield Source.WORDS, [run for run, count in Counter(runs).items() if count > 1]

    def _describe_word(self, form: str) -> _WordFacts:
        tag = self.segmenter.tag(form)
        is_word = form.isalnum() or any(char.isalnum() for char in form)
        is_edge = is_word and tag not in FUNCTION_TAGS
        return _WordFacts(
            is_word=is_word,
            is_edge=is_edge,
            is_noun=not tag or tag[0] in NOMINAL,
            is_candidate=is_edge and self.config.min_word_chars <= len(form) <= self.config.max_chars,
            joins=form in _JOINERS,
            ends_name=form.endswith(NAME_SUFFIXES),
        )


class _WordFacts(NamedTuple):
    """What decides whether a word takes part in a candidate."""

    is_word: bool
    is_edge: bool
    """May begin and end a candidate."""
    is_noun: bool
    is_candidate: bool
    joins: bool
    """A mark that may stand between the words of a name."""
    ends_name: bool


def _trimmed(*keys: str) -> list[str]:
    """Return keys without outer blanks; those without letters and digits, and single ASCII characters, are left out."""
    stripped = (key.strip() for key in keys)
    return [key for key in stripped if any(map(str.isalnum, key)) and (len(key) > 1 or not key.isascii())]


def locate(document: Document, words: Words, sources: dict[str, int]) -> CandidateSet:
    """Find every occurrence of the keys of ``sources`` and return those that occur as a CandidateSet.

    A key that holds a line break is never found: it could begin in the title and end in the content.
    """
    names = [key for key in sources if SEPARATOR not in key]
    rows, starts = occurrences(names, document.text)
    order = np.lexsort((starts, rows))
    rows, starts = rows[order], starts[order]
    found, begins, counts = np.unique(rows, return_index=True, return_counts=True)
    lengths = np.fromiter((len(names[row]) for row in found), np.int64, len(found))
    first = np.lexsort((-lengths, starts[begins]))  # no two keys of one length begin at one place
    found, begins, counts = found[first], begins[first], counts[first]
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    keys = [names[row] for row in found]
    return CandidateSet(
        document,
        words,
        keys,
        np.array([sources[key] for key in keys], dtype=np.int64),
        starts[np.repeat(begins - offsets[:-1], counts) + np.arange(len(starts))].astype(np.int32),
        offsets,
    )


__all__ = [
    "FUNCTION_TAGS",
    "CandidateGenerator",
    "CandidateSet",
    "Source",
    "bare_key",
    "has_word_boundaries",
    "locate",
]
