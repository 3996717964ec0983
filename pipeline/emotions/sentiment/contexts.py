"""What stage two reads of an article: its title and the sentences that name the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.nn.vocab import window_around
from pipeline.schema import Emotion, Target
from pipeline.text import SEPARATOR, Document, match_key
from pipeline.text.dictionary import has_word_boundaries

Span = tuple[int, int]


class WeightedSpan(NamedTuple):
    """A half-open span of a text, and how much a model looked at it."""

    start: int
    stop: int
    weight: float


def find_mentions(text: str, key: str) -> list[Span]:
    """Return the spans of a normalised name, left to right, without overlap.

    An occurrence inside a longer Latin run counts only where there is no other.
    """
    spans: list[Span] = []
    position = text.find(key) if key else -1
    while position >= 0:
        spans.append((position, position + len(key)))
        position = text.find(key, position + len(key))
    return [span for span in spans if has_word_boundaries(text, *span)] or spans


def make_target(document: Document, name: str, *, max_chars: int, emotion: Emotion | None = None) -> Target:
    """Build the example of one entity: the title, then each sentence that names it, in reading order.

    The first mention is marked. Sentences are taken until ``max_chars`` is full; the last is cut on the sides away
    from the name. A title without the name leaves half the room. A name that does not occur gets the article's lead.
    """
    text, spans, _ = _context(document, name, max_chars)
    start, stop = spans[0] if spans else (0, 0)
    return Target(
        text=text,
        start=start,
        stop=stop,
        name=name,
        emotion=emotion,
        group=document.article.news_id,
        mentions=tuple(spans),
        document=document.text,
    )


def context_origin(document: Document, name: str, *, max_chars: int) -> list[tuple[int, int, int]]:
    """Tell where the text of ``make_target`` comes from.

    Returns:
        For each piece, in reading order: where it begins in that text, where in ``document.text``, and its length.
    """
    return _context(document, name, max_chars)[2]


def _context(document: Document, name: str, max_chars: int) -> tuple[str, list[Span], list[tuple[int, int, int]]]:
    """Return the text that is read of an entity, its mentions there, and the origin of the pieces."""
    mentions = find_mentions(document.text, match_key(name))
    text = ""
    moved: list[Span] = []
    origin: list[tuple[int, int, int]] = []
    for start, stop, (first, last) in _pieces(document, mentions) if mentions else ():
        names_it = first < last
        room = max_chars - len(text) if names_it else max_chars // 2
        if moved and room < last - first:
            break
        # The first mention goes in whole, whatever the limit.
        lower, upper = window_around(stop - start, first - start, last - start, max(room, last - first))
        lower, upper = start + lower, start + upper
        shift = len(text) - lower
        moved += [(a + shift, b + shift) for a, b in mentions if lower <= a and b <= upper]
        piece = document.text[lower:upper].rstrip()
        origin.append((len(text), lower, len(piece)))
        text += piece + SEPARATOR
    if not moved:
        lead = document.text[:max_chars]
        return lead, [], [(0, 0, len(lead))]
    return text.removesuffix(SEPARATOR), moved, origin


def gold_targets(documents: Iterable[Document], *, max_chars: int) -> list[Target]:
    """Build one labelled example for every gold entity."""
    return [
        make_target(document, entity.name, max_chars=max_chars, emotion=entity.emotion)
        for document in documents
        for entity in document.article.entities or ()
    ]


def gold_emotions(examples: Sequence[Target]) -> list[Emotion]:
    """Return the emotion of each example.

    Raises:
        ValueError: one has none.
    """
    for example in examples:
        if example.emotion is None:
            raise ValueError(f"target {example.name!r} of {example.group!r} has no gold emotion")
    return [example.emotion for example in examples if example.emotion is not None]


def _pieces(document: Document, mentions: list[Span]) -> Iterator[tuple[int, int, Span]]:
    """Yield start, stop and first mention of the title, then of each sentence of the content that names the target."""
    done = len(document.title.text)
    first = mentions[0]
    if done:
        yield 0, done, first if first[1] <= done else (0, 0)
    for mention in mentions:
        if mention[0] < done:
            continue
        start, stop = document.sentences[document.sentence_at(mention[0])]
        # A name may hold a full stop, and then runs on into the next sentence.
        start, done = max(start, done), max(stop, mention[1])
        yield start, done, mention
