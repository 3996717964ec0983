"""An article and its candidates as an encoder reads them: which tokens, and where each candidate stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.nn.tokenisers import PieceTokeniser, Tokens
from pipeline.text import Document, split_sentences
from pipeline.text.dictionary import Matcher

MARKS = (("[unused1]", "[unused2]"), ("〖", "〗"))
"""Pairs of tokens that may stand around a mention: the first pair that the vocabulary knows, else two separators."""

MAX_NAME_TOKENS = 24
"""Most tokens of a candidate's name read after the text."""

Span = tuple[int, int]


@dataclass(frozen=True)
class CandidateList:
    """A normalised article and the candidates to be scored, as keys that occur in it."""

    text: str
    """Title, a line break, content (``Document.text``)."""
    content_start: int
    keys: tuple[str, ...]

    @classmethod
    def of(cls, document: Document, keys: Sequence[str]) -> CandidateList:
        """Take the candidates of an article, in the order given."""
        return cls(document.text, document.content_start, tuple(keys))

    @cached_property
    def spans(self) -> dict[str, list[Span]]:
        """Half-open character spans of each key: those that do not overlap an earlier one of the same key."""
        found: dict[str, list[Span]] = {key: [] for key in self.keys}
        for start, stop in Matcher(found).find(self.text):
            spans = found[self.text[start:stop]]
            if not spans or start >= spans[-1][1]:
                spans.append((start, stop))
        return found

    @cached_property
    def sentences(self) -> list[Span]:
        """Half-open character spans of the sentences."""
        return split_sentences(self.text)


@dataclass(frozen=True)
class Passage:
    """One input of the encoder."""

    ids: np.ndarray
    """int64 (n_tokens,), with the tokens that frame it."""
    second: int
    """Where the part after the first separator begins."""
    mentions: list[np.ndarray]
    """Positions of the tokens of each candidate's mentions, its name after the text included: never empty."""


class PassageBuilder:
    """Builds passages of at most ``max_tokens`` tokens.

    Args:
        tokeniser: of the encoder.
        max_tokens: special tokens, marks and names included.
    """

    def __init__(self, tokeniser: PieceTokeniser, *, max_tokens: int) -> None:
        self._tokeniser, self._special, self._max_tokens = tokeniser, tokeniser.special, max_tokens
        self.marks = (self._special.separator, self._special.separator)
        for left, right in MARKS:
            first, second = tokeniser.tokenizer.token_to_id(left), tokeniser.tokenizer.token_to_id(right)
            if first is not None and second is not None:
                self.marks = (first, second)
                break

    def marked(self, article: CandidateList) -> list[Passage]:
        """Return a passage for each candidate: ``[CLS] title + lead, mentions marked [SEP] name [SEP]``.

        A sentence is read beyond the lead where the content's first mention of the candidate stands there.
        """
        tokens = self._tokeniser(article.text)
        return [self._marked(article, tokens, key) for key in article.keys]

    def joint(self, article: CandidateList) -> Passage:
        """Return one passage for all candidates: ``[CLS] title + lead [SEP] name [SEP] name [SEP] ...``.

        The names stand in the order of their first mentions: ranks would tell the gold entities that training adds
        beyond the best candidates. The text gets what the names leave, but at least half; names for which no room is
        left are cut to nothing, and a candidate that then has no token at all is read from the first token.
        """
        tokens = self._tokeniser(article.text)
        names = [self._name(key) for key in article.keys]
        room = self._max_tokens - 2
        n_text = min(len(tokens.ids), max(room // 2, room - sum(len(name) + 1 for name in names)))
        ids = [self._special.first, *tokens.ids[:n_text].tolist(), self._special.separator]
        mentions = [np.array([0])] * len(names)
        for index in sorted(range(len(names)), key=lambda index: _first_mention(article, index)):
            name = names[index]
            inside = [span for span in _token_spans(tokens, article.spans[article.keys[index]]) if span[1] <= n_text]
            places = [place + 1 for first, last in inside for place in range(first, last)]
            if len(ids) + len(name) + 1 <= self._max_tokens:
                places += range(len(ids), len(ids) + len(name))
                ids += [*name, self._special.separator]
            if places:
                mentions[index] = np.array(places)
        return Passage(np.array(ids), n_text + 2, mentions)

    def _marked(self, article: CandidateList, tokens: Tokens, key: str) -> Passage:
        name = self._name(key)
        room = self._max_tokens - 3 - len(name)
        spans = _token_spans(tokens, article.spans[key])
        n_title = int(np.searchsorted(tokens.starts, article.content_start))
        title = _cut((0, n_title), spans, room // 2)
        left = room - _cost(title, spans)
        lead = _cut((n_title, len(tokens.ids)), spans, left)
        ranges = [title, lead]
        first = next((span for span in spans if span[0] >= n_title), None)
        if first is not None and first[1] > lead[1]:
            sentence = self._sentence(article, tokens, first, spans, left // 2)
            lead = _cut((n_title, min(len(tokens.ids), sentence[0])), spans, left - _cost(sentence, spans))
            ranges = [title, lead, sentence]
        ids, places = [self._special.first], list[int]()
        for start, stop in ranges:
            inside = [span for span in spans if start <= span[0] and span[1] <= stop]
            for first_token, last_token in inside:
                ids += [*tokens.ids[start:first_token].tolist(), self.marks[0]]
                places += range(len(ids), len(ids) + last_token - first_token)
                ids += [*tokens.ids[first_token:last_token].tolist(), self.marks[1]]
                start = last_token
            ids += tokens.ids[start:stop].tolist()
        ids.append(self._special.separator)
        second = len(ids)
        places += range(second, second + len(name))
        return Passage(np.array([*ids, *name, self._special.separator]), second, [np.array(places or [0])])

    def _sentence(self, article: CandidateList, tokens: Tokens, mention: Span, spans: list[Span], room: int) -> Span:
        """Return the tokens of the sentence that holds a mention, cut on both sides to the room there is."""
        position = tokens.starts[mention[0]]
        begin, end = next(span for span in article.sentences if span[0] <= position < span[1])
        first, last = (int(place) for place in np.searchsorted(tokens.starts, (begin, end)))
        first = max(first, min(mention[0], (mention[0] + mention[1] - room) // 2))
        return _cut((first, max(last, mention[1])), spans, room)

    def _name(self, key: str) -> list[int]:
        name: list[int] = self._tokeniser(key).ids[:MAX_NAME_TOKENS].tolist()
        return name


def _first_mention(article: CandidateList, index: int) -> tuple[int, str]:
    """Return what orders candidates by their first mention, the shorter name first."""
    key = article.keys[index]
    spans = article.spans[key]
    return (spans[0][0] if spans else len(article.text)), key


def _token_spans(tokens: Tokens, spans: Sequence[Span]) -> list[Span]:
    """Map character spans to half-open token spans, leaving out those without a token of their own."""
    found: list[Span] = []
    for start, stop in spans:
        first = int(np.searchsorted(tokens.stops, start, side="right"))
        last = int(np.searchsorted(tokens.starts, stop, side="left"))
        if first < last and (not found or found[-1][1] <= first):
            found.append((first, last))
    return found


def _cost(part: Span, spans: Sequence[Span]) -> int:
    """Return the tokens of a range with the marks in it."""
    return part[1] - part[0] + 2 * sum(part[0] <= start and stop <= part[1] for start, stop in spans)


def _cut(part: Span, spans: Sequence[Span], room: int) -> Span:
    """Return the longest beginning of a range that fits, marks included."""
    start, stop = part
    stop = min(stop, start + max(0, room))
    while stop > start and _cost((start, stop), spans) > room:
        stop -= 1
    return start, stop
