"""Kinds candidates, offsets and detail_output: names of an article, and where they stand in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.config import CandidateConfig
from pipeline.entities.candidates import CandidateGenerator, CandidateSet, Source
from pipeline.entities.rerank import NumberRule, choose
from pipeline.schema import Article, ChosenEntity, Emotion, Mention, Prediction
from pipeline.submission import SubmissionWriter
from pipeline.text import Document, default_segmenter, match_key
from pipeline.text.dictionary import Matcher
from tests.support.located import located

from .framework import Adapter, CaseError, Given, Tools, article_of, at_least, at_most, equals

Row = dict[str, Any]
ORDER = ("title", "content")


def _matcher(names: list[str]) -> Matcher | None:
    return Matcher([match_key(name) for name in names]) if names else None


def _surface_is_slice(article: Article, mentions: list[Row]) -> bool:
    return all(article.field(row["field"])[row["start"] : row["end"]] == row["surface"] for row in mentions)


def _row(mention: Mention, entity: str) -> Row:
    return {
        "field": mention.field,
        "start": mention.start,
        "end": mention.end,
        "surface": mention.surface,
        "entity": entity,
    }


# --- candidates


def candidates(given: Given, tools: Tools) -> CandidateSet:
    """Return every candidate of an article, unpruned."""
    generator = CandidateGenerator(
        CandidateConfig(**given.first("config", "options", default={})),
        segmenter=default_segmenter(),
        dictionary=_matcher(given.first("lexicon", "dictionary", default=[])),
        gold_names=_matcher(given.first("gold_names", "gold", "training_entities", default=[])),
    )
    return generator.generate(Document.of(article_of(given)))


def _index(found: CandidateSet, name: str) -> int:
    assert match_key(name) in found.keys, f"{name!r} is not among {found.keys}"
    return found.keys.index(match_key(name))


def _surfaces(found: CandidateSet) -> list[str]:
    return [found.surface(index) for index in range(len(found))]


def _includes(found: CandidateSet, wanted: Any) -> None:
    for name in wanted:
        _index(found, name)


def _excludes(found: CandidateSet, wanted: Any) -> None:
    for name in wanted:
        assert name not in found.keys
        assert name not in _surfaces(found)


def _excludes_regex(found: CandidateSet, wanted: Any) -> None:
    for pattern in [wanted] if isinstance(wanted, str) else wanted:
        assert not [name for name in {*found.keys, *_surfaces(found)} if re.search(pattern, name)], pattern


def _counts(found: CandidateSet, wanted: Any) -> None:
    counts = dict(zip(found.keys, found.counts.tolist(), strict=True))
    assert {name: counts.get(match_key(name), 0) for name in wanted} == wanted


def _all_slices(found: CandidateSet) -> bool:
    article = found.document.article
    surfaces = [surface in article.title or surface in article.content for surface in _surfaces(found)]
    rows = [_row(mention, key) for index, key in enumerate(found.keys) for mention in found.mentions(index)]
    return all(surfaces) and _surface_is_slice(article, rows)


def _longest_first(found: CandidateSet, wanted: Any) -> None:
    """Check that a name stands before those inside it that occur no earlier, and that they leave it its mentions."""
    for name in wanted:
        index = _index(found, name)
        inner = [row for row, key in enumerate(found.keys) if key in found.keys[index] and row != index]
        assert all(row > index for row in inner if found.firsts[row] >= found.firsts[index])
        assert found.counts[index] == found.document.text.count(found.keys[index])


def _chosen_at_most_one(found: CandidateSet, wanted: Any) -> None:
    """Check that the answer never names two of these, whichever of them is the likelier."""
    rows = [_index(found, name) for name in wanted]
    for best in (rows, rows[::-1]):
        probs = np.full(len(found), 0.5)
        probs[best] = np.linspace(0.9, 0.8, len(best))
        chosen = choose(probs, found.keys, found.firsts, NumberRule(floor=0.0, share_of_top=0.0))
        assert len(set(chosen) & set(rows)) <= 1


def _candidate_mentions(found: CandidateSet, wanted: Any) -> None:
    names = dict.fromkeys(row["entity"] for row in wanted)
    rows = [_row(mention, name) for name in names for mention in found.mentions(_index(found, name))]
    _same_mentions(rows, wanted)


def _sources(found: CandidateSet, wanted: Any) -> None:
    for name, sources in wanted.items():
        bits = int(found.sources[_index(found, name)])
        assert {source.name.lower() for source in Source if bits & source} >= set(sources)


def _surface_forms(found: CandidateSet, wanted: Any) -> None:
    assert {name: found.surface(_index(found, name)) for name in wanted} == wanted


CANDIDATES = Adapter(
    candidates,
    {
        "must_include": _includes,
        "must_not_include": _excludes,
        "must_not_include_regex": _excludes_regex,
        **dict.fromkeys(("merged_count", "counts"), _counts),
        "surface_must_be_slice": equals(_all_slices),
        "longest_first": _longest_first,
        "final_at_most_one_of": _chosen_at_most_one,
        "max_candidates": at_most(len),
        "min_candidates": at_least(len),
        "n_candidates": equals(len),
        "no_repeats": equals(lambda found: len(set(found.keys)) == len(found)),
        "mentions": _candidate_mentions,
        "sources": _sources,
        **dict.fromkeys(("surface", "surfaces"), _surface_forms),
    },
)


# --- offsets and detail_output


@dataclass(frozen=True)
class Details:
    """Mentions as rows, and the article they point into."""

    article: Article
    mentions: list[Row]
    entities: list[str]
    rows: list[Row]
    """Lines of the details file, where one was written."""


def offsets(given: Given, tools: Tools) -> Details:
    """Find given names in the untouched fields of an article."""
    article = article_of(given)
    names = given.first("entities", "entity", default=[])
    names = [names] if isinstance(names, str) else names
    match = given.get("match", "case-insensitive")
    if match not in ("case-insensitive", "normalised", "exact"):
        raise CaseError(f"match {match!r} is not understood")
    found = located(Document.of(article), [match_key(name) for name in names])
    mentions = [
        _row(mention, name)
        for name in names
        if match_key(name) in found.keys
        for mention in found.mentions(found.keys.index(match_key(name)))
        if match != "exact" or mention.surface == name
    ]
    return Details(article, mentions, names, [])


def detail_output(given: Given, tools: Tools) -> Details:
    """Write a details file with the mentions of given names, and read it back."""
    given_names = offsets(given, tools)
    article, names = given_names.article, given_names.entities
    document = Document.of(article)
    found = located(document, [match_key(name) for name in names])
    chosen = [
        ChosenEntity(name, Emotion.NORM, 0.5, (0.2, 0.5, 0.3), found.mentions(found.keys.index(match_key(name))))
        for name in names
        if match_key(name) in found.keys
    ]
    path = tools.tmp_path / "details.jsonl"
    with SubmissionWriter(tools.tmp_path / "answer.txt", details=path) as writer:
        for first in range(0, max(len(chosen), 1), 3):  # an article has three entities at most
            writer.write(Prediction(article.news_id, tuple(chosen[first : first + 3])))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    entities = [entity for row in rows for entity in row["entities"]]
    mentions = [{**mention, "entity": entity["entity"]} for entity in entities for mention in entity["mentions"]]
    return Details(article, mentions, [entity["entity"] for entity in entities], rows)


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (ORDER.index(row["field"]), row["start"], row["end"], row.get("entity", "")))


def _same_mentions(found: list[Row], wanted: Any) -> None:
    keys = set(wanted[0]) if wanted else set()
    assert _sorted([{key: row[key] for key in keys} if keys else row for row in found]) == _sorted(wanted)


def _invariant(details: Details, wanted: Any) -> None:
    """Hold every mention against its field; the text of the rule must be the one that is checked."""
    if wanted not in (True, False) and "[start:end] == surface" not in wanted:
        raise CaseError(f"invariant {wanted!r} is not understood")
    assert details.mentions
    assert _surface_is_slice(details.article, details.mentions) == bool(wanted)


_DETAIL_CHECKS = {
    "mentions": lambda details, wanted: _same_mentions(details.mentions, wanted),
    **dict.fromkeys(("n_mentions", "count"), equals(lambda details: len(details.mentions))),
    "invariant": _invariant,
    "surface_must_be_slice": equals(lambda details: _surface_is_slice(details.article, details.mentions)),
}
OFFSETS = Adapter(offsets, _DETAIL_CHECKS)
DETAIL_OUTPUT = Adapter(
    detail_output,
    {
        **_DETAIL_CHECKS,
        "entities": equals(lambda details: details.entities),
        "newsId": equals(lambda details: details.rows[0]["newsId"]),
    },
)
