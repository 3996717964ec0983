"""Pairs of one article: its title with the context of each of its candidates. No pair spans two articles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.config import RelevanceConfig
from pipeline.entities.candidates import CandidateSet, bare_key
from pipeline.entities.relevance.tokens import token_bounds
from pipeline.nn.vocab import window_around
from pipeline.text import Document

Piece = tuple[int, int, int, int]
"""Tokens ``[start, stop)`` of the article, of which ``[first, last)`` name the candidate: start, first, last, stop."""


@dataclass(frozen=True)
class ArticlePairs:
    """What a matcher reads of an article, as ranges of its tokens. The left text of every pair is the title."""

    news_id: str
    text: str
    """The normalised text."""
    bounds: np.ndarray
    """int32 (n_tokens, 2): characters ``[start, stop)`` of each token."""
    title: tuple[int, int]
    """Tokens of the title; of the first sentence where there is no title."""
    pieces: np.ndarray
    """int32 (n_pieces, 4): start, first, last, stop of each piece of a context."""
    offsets: np.ndarray
    """int64 (n_candidates + 1,): candidate ``i`` has ``pieces[offsets[i]:offsets[i + 1]]``."""
    weights: np.ndarray
    """float64 (n_candidates,): chance of being drawn as a negative, up to scale; 0 for one that is core."""
    is_core: np.ndarray
    """bool (n_candidates,): whether the candidate is a core entity; False throughout where that is unknown."""

    def __len__(self) -> int:
        """Number of candidates."""
        return len(self.is_core)

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the text."""
        return [self.text[start:stop] for start, stop in self.bounds.tolist()]

    def context(self, row: int) -> list[Piece]:
        """Return the pieces of a candidate's context, in reading order."""
        return [tuple(piece) for piece in self.pieces[self.offsets[row] : self.offsets[row + 1]].tolist()]


def article_pairs(candidates: CandidateSet, config: RelevanceConfig, *, gold: Collection[str] = ()) -> ArticlePairs:
    """Pair an article's title with the sentences that name each candidate.

    A context is up to ``max_context_tokens`` of sentences of the content in reading order, each cut around its first
    mention; for a candidate that only the title names it is the title. Negatives that are named often, and in
    the title, are harder to tell from a core entity: a candidate is drawn in proportion to its mentions, twice as often
    if the title names it. A core entity in another spelling (with or without 《》, quotes, blanks) is never drawn.

    Args:
        candidates: of one article, pruned.
        config: sizes, kind of tokens.
        gold: match keys of the core entities, in training.
    """
    document = candidates.document
    bounds = token_bounds(document.text, candidates.words.starts, config.tokens)
    pieces: list[Piece] = []
    offsets = [0]
    places = _Places(candidates, bounds)
    for row in range(len(candidates)):
        pieces += _context(places, row, config)
        offsets.append(len(pieces))
    names = {bare_key(key) for key in gold}
    in_title = candidates.firsts < document.content_start
    drawable = np.array([bare_key(key) not in names for key in candidates.keys], dtype=bool)
    return ArticlePairs(
        news_id=document.article.news_id,
        text=document.text,
        bounds=bounds,
        title=_title(document, bounds, config.max_title_tokens),
        pieces=np.array(pieces, dtype=np.int32).reshape(-1, 4),
        offsets=np.array(offsets, dtype=np.int64),
        weights=candidates.counts * (1.0 + in_title) * drawable,
        is_core=np.array([key in gold for key in candidates.keys], dtype=bool),
    )


class _Places:
    """Occurrences of the candidates and sentences of the article, in tokens."""

    def __init__(self, candidates: CandidateSet, bounds: np.ndarray) -> None:
        document = candidates.document
        starts = candidates.starts.astype(np.int64)
        stops = starts + np.repeat(candidates.lengths, candidates.counts)
        spans = np.array(document.sentences, dtype=np.int64).reshape(-1, 2)
        self.offsets = candidates.offsets.tolist()
        self.first = np.searchsorted(bounds[:, 1], starts, side="right").tolist()
        self.last = np.searchsorted(bounds[:, 0], stops, side="left").tolist()
        self.sentence = (np.searchsorted(spans[:, 0], starts, side="right") - 1).tolist()
        self.in_title = (starts < document.content_start).tolist()
        self.sentences = np.searchsorted(bounds[:, 0], spans, side="left").tolist()


def _context(places: _Places, row: int, config: RelevanceConfig) -> list[Piece]:
    occurrences = range(places.offsets[row], places.offsets[row + 1])
    in_content = [index for index in occurrences if not places.in_title[index]]
    pieces: list[Piece] = []
    room, previous = config.max_context_tokens, None
    for index in in_content or occurrences:
        first, last, sentence = places.first[index], places.last[index], places.sentence[index]
        if sentence == previous:
            continue
        if pieces and room < last - first:
            break
        previous = sentence
        start, stop = places.sentences[sentence]
        start, stop = min(start, first), max(stop, last)  # a name may hold a full stop
        size = min(room, config.max_sentence_tokens)
        lower, upper = window_around(stop - start, first - start, last - start, size)
        pieces.append((start + lower, first, min(last, start + upper), start + upper))
        room -= upper - lower
        if room <= 0:
            break
    return pieces


def _title(document: Document, bounds: np.ndarray, limit: int) -> tuple[int, int]:
    n_title = int(np.searchsorted(bounds[:, 0], len(document.title.text), side="left"))
    if n_title:
        return 0, min(n_title, limit)
    for start, stop in document.sentences:
        first, last = np.searchsorted(bounds[:, 0], [start, stop], side="left").tolist()
        if first < last:
            return first, min(last, first + limit)
    return 0, 0
