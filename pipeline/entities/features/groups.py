"""The feature groups: each turns one article's candidates into named columns.

A column is one value per candidate; every group is a pure function of the context. A new feature is one
entry of a group's result; a new group is one function here and one line in ``GROUPS``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Set

import numpy as np

from pipeline.entities.candidates import NAME_SUFFIXES, Source
from pipeline.entities.features.context import Columns, FeatureContext, rank_descending
from pipeline.entities.tagging import tagger_columns
from pipeline.text import SEPARATOR
from pipeline.text.dictionary import occurrences

_OPENING = np.array([ord(char) for char in "《“「『‘【[(\"'"])
_TAG_CLASSES = ("n", "nr", "ns", "nt", "nz", "v", "a", "m", "eng", "j", "other", "unknown")
_SUFFIX_RANK = {ending: rank for rank, ending in enumerate(NAME_SUFFIXES)}
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔"
    "钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢安齐"
)


def counts(context: FeatureContext) -> Columns:
    """How often the candidate occurs."""
    tf = context.tf.astype(np.float64)
    length = context.candidates.lengths
    title_tf = context.per_candidate_sum(context.in_title)
    return {
        "tf": tf,
        "tf_share": tf / tf.max(initial=1),
        "tf_density": tf * length / max(len(context.document.text), 1),
        "tf_rank": rank_descending(tf),
        "tf_length_rank": rank_descending(tf * np.log1p(length)),
        "content_tf": tf - title_tf,
        "lead_tf": context.per_candidate_sum(context.starts < context.document.content_start + 300),
    }


def title(context: FeatureContext) -> Columns:
    """Where the candidate stands in the title, and how much of it stands there."""
    document = context.document
    title_text = document.title.text
    length = max(len(title_text), 1)
    title_tf = context.per_candidate_sum(context.in_title)
    in_title = title_tf > 0
    keys = context.candidates.keys
    known = {title_text[index : index + size] for size in (1, 2) for index in range(len(title_text))}
    covered = [_covered_share(key, known) for key in keys]
    return {
        "title_tf": title_tf,
        "title_position": np.where(in_title, context.first / length, np.nan),
        "title_share": np.where(in_title, context.candidates.lengths / length, 0.0),
        "title_overlap": np.array(covered),
        "title_rank": rank_descending(np.where(in_title, context.tf, 0)),
        "title_longest_rank": rank_descending(np.where(in_title, context.candidates.lengths, 0)),
    }


def _covered_share(key: str, known: Set[str]) -> float:
    """Share of the key's adjacent character pairs (of a single character, itself) that are among the title's."""
    pairs = [key[index : index + 2] for index in range(len(key) - 1)] or [key]
    return sum(map(known.__contains__, pairs)) / len(pairs)


def positions(context: FeatureContext) -> Columns:
    """Where the occurrences lie and how far they are spread."""
    document = context.document
    length = max(len(document.text), 1)
    content_starts = np.where(context.in_title, np.iinfo(np.int32).max, context.starts)
    first_content = np.minimum.reduceat(content_starts, context.candidates.offsets[:-1]) - document.content_start
    in_content = first_content < length
    last_sentence = len(document.sentences) - 1
    changes = np.diff(context.sentence, prepend=-1) != 0
    changes[context.candidates.offsets[:-1]] = True
    n_sentences = context.per_candidate_sum(changes)
    sentence_starts = np.array([start for start, _ in document.sentences])
    return {
        "first": context.first,
        "first_share": context.first / length,
        "first_rank": rank_descending(-context.first),
        "first_content": np.where(in_content, first_content, np.nan),
        "last_share": context.last / length,
        "spread": (context.last - context.first) / length,
        "mean_position": context.per_candidate_sum(context.starts) / context.tf / length,
        "n_sentences": n_sentences,
        "sentence_share": n_sentences / max(last_sentence + 1, 1),
        "in_last_sentence": context.per_candidate_max(context.sentence) == last_sentence,
        "first_half_share": context.per_candidate_share(context.starts < length / 2),
        "sentence_start_share": context.per_candidate_share(context.starts - sentence_starts[context.sentence] <= 1),
    }


def shape(context: FeatureContext) -> Columns:
    """The characters of the name itself."""
    keys = context.candidates.keys
    lengths = context.candidates.lengths
    digits = np.array([sum(map(str.isdigit, key)) for key in keys])
    # Characters of all keys in a row; lower case, since keys are normalised.
    codes = np.frombuffer("".join(keys).encode("utf-32-le"), dtype=np.uint32)
    begins = np.cumsum(lengths) - lengths
    latin, han = (
        np.add.reduceat((codes >= ord(first)) & (codes <= ord(last)), begins, dtype=np.int64)
        for first, last in ("az", "\u4e00\u9fff")
    )
    return {
        "length": lengths,
        "n_latin": latin,
        "n_digits": digits,
        "n_other": lengths - latin - digits - han,
        "has_blank": np.array([" " in key for key in keys]),
        "has_marks": np.array([unicodedata.category(key[0])[0] == "P" for key in keys]),
        "looks_like_person": np.array([key[0] in _SURNAMES and 2 <= len(key) <= 3 for key in keys]),
        "suffix": np.array([_suffix_rank(key) for key in keys]),
        "repeats_character": np.array([len(set(key)) < len(key) for key in keys]),
    }


def _suffix_rank(key: str) -> float:
    """Return the place of the longest known ending of a key, NaN where it has none."""
    return next((_SUFFIX_RANK[key[-n:]] for n in (3, 2, 1) if key[-n:] in _SUFFIX_RANK), np.nan)


def words(context: FeatureContext) -> Columns:
    """Part of speech of the name and its neighbours, and how well segmentation agrees with it."""
    segmenter, bounds = context.segmenter, context.word_starts
    classes = np.array([_CLASS_OF[tag] for tag in segmenter.tags(context.candidates.words.forms)] or [0])
    first = np.searchsorted(bounds, context.starts, side="right") - 1
    last = np.searchsorted(bounds, context.stops, side="left") - 1
    aligned = (bounds[first] == context.starts) & (bounds[last + 1] == context.stops)
    at_first = context.candidates.offsets[:-1]
    # Outside the text there is no word, as there is none in the dictionary for a line break.
    padded = np.pad(classes, 1, constant_values=_tag_class(""))
    before, after = padded[first], padded[last + 2]
    verb = _TAG_CLASSES.index("v")
    keys = context.candidates.keys
    return {
        "whole_tag": np.array([_CLASS_OF[tag] for tag in segmenter.tags(keys)]),
        "first_tag": classes[first[at_first]],
        "last_tag": classes[last[at_first]],
        "n_words": (last - first + 1)[at_first],
        "aligned_share": context.per_candidate_share(aligned),
        "verb_after_share": context.per_candidate_share(after == verb),
        "verb_before_share": context.per_candidate_share(before == verb),
        "noun_after_share": context.per_candidate_share(after <= 4),
        "noun_before_share": context.per_candidate_share(before <= 4),
        "corpus_frequency": np.array(segmenter.log_frequencies(keys)),
    }


class _TagClasses(dict[str, int]):
    """Part of speech -> its class, filled as parts of speech are met."""

    def __missing__(self, tag: str) -> int:
        self[tag] = found = _tag_class(tag)
        return found


_CLASS_OF = _TagClasses()


def _tag_class(tag: str) -> int:
    if not tag:
        return _TAG_CLASSES.index("unknown")
    for name in (tag, tag[:2], tag[:1]):
        if name in _TAG_CLASSES:
            return _TAG_CLASSES.index(name)
    return _TAG_CLASSES.index("other")


def nesting(context: FeatureContext) -> Columns:
    """How far occurrences are parts of longer candidates, and how far they hold shorter ones."""
    tf, lengths = context.tf, context.candidates.lengths
    repeated = tf[context.owner] > 1
    named = (context.candidates.sources[context.owner] & int(Source.DICTIONARY | Source.TITLE_MARKS)) > 0
    keys = context.candidates.keys
    joined = SEPARATOR.join(keys)  # no key holds it, so no key is found across two
    parts, starts = occurrences(keys, joined, anywhere=True)
    rows = np.repeat(np.arange(len(keys)), lengths + 1)[starts]
    nested = (lengths[parts] > 1) & (parts != rows)
    parts, rows = parts[nested], rows[nested]
    inner_tf, outer_tf = np.zeros_like(tf), np.zeros_like(tf)
    np.maximum.at(inner_tf, rows, tf[parts])
    np.maximum.at(outer_tf, parts, tf[rows])
    return {
        "free_share": 1 - context.per_candidate_share(_covered(context, repeated)),
        "free_of_names_share": 1 - context.per_candidate_share(_covered(context, named)),
        "inner_ratio": inner_tf / tf,
        "outer_ratio": outer_tf / tf,
        "n_outer": np.bincount(parts, minlength=len(keys)),
    }


def _covered(context: FeatureContext, covering: np.ndarray) -> np.ndarray:
    """Tell for each occurrence whether a longer occurrence out of ``covering`` holds it: bool (n_occurrences,)."""
    order = np.lexsort((-context.stops, context.starts))
    stops = context.stops[order]
    reach = np.maximum.accumulate(np.where(covering[order], stops, 0))
    covered = np.zeros(len(order), dtype=bool)
    covered[order[1:]] = reach[:-1] >= stops[1:]
    return covered


def neighbours(context: FeatureContext) -> Columns:
    """Variety of the characters left and right (a fragment has few), and marks around the name."""
    left, right = context.left_char, context.right_char
    return {
        "left_entropy": _entropy(context, left),
        "right_entropy": _entropy(context, right),
        "opened_share": context.per_candidate_share(np.isin(left, _OPENING)),
        "book_share": context.per_candidate_share((left == ord("《")) & (right == ord("》"))),
        "de_after_share": context.per_candidate_share(right == ord("的")),
        "comma_after_share": context.per_candidate_share(np.isin(right, [ord(char) for char in ",。、;:!?\n"])),
        "comma_before_share": context.per_candidate_share(np.isin(left, [ord(char) for char in ",。、;:!?\n "])),
    }


def _entropy(context: FeatureContext, chars: np.ndarray) -> np.ndarray:
    """Entropy in nats of each candidate's neighbouring characters."""
    pairs, n = np.unique(context.owner * 0x110000 + chars, return_counts=True)
    owner = pairs // 0x110000
    share = n / context.tf[owner]
    return np.bincount(owner, weights=-share * np.log(share), minlength=len(context.candidates))


def sources(context: FeatureContext) -> Columns:
    """Which generators offered the candidate."""
    bits = context.candidates.sources
    return {f"from_{source.name.lower()}": (bits & int(source)) > 0 for source in Source if source.name}


def document(context: FeatureContext) -> Columns:
    """The article as a whole; the same for all of its candidates."""
    n = len(context.candidates)
    values = {
        "document_length": len(context.document.text),
        "n_document_sentences": len(context.document.sentences),
        "title_length": len(context.document.title.text),
        "n_candidates": n,
        "is_truncated": context.document.article.truncated,
        "max_tf": context.tf.max(initial=0),
    }
    return {name: np.full(n, value, dtype=np.float64) for name, value in values.items()}


def tagger(context: FeatureContext) -> Columns:
    """How the tagger scored the mentions; no columns in a run without a tagger."""
    candidates = context.candidates
    return {} if candidates.tagged is None else tagger_columns(candidates, candidates.tagged)


GROUPS = [counts, title, positions, shape, words, nesting, neighbours, sources, document, tagger]
"""Groups that read the article alone, in the order of the reranker's columns."""
