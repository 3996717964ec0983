"""Labelled texts -> tagged tokens. What cannot be labelled is masked and counted, never tagged "O"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pipeline.nn.tokenisers import Tokeniser, Tokens, WordTokeniser
from pipeline.text.spans import LabelledText, ScoredSpan, Span, TagScheme, choose_spans

UNKNOWN_TAG = -100
"""Id of a tag that is not known: it takes no part in the loss."""


@dataclass
class LabelReport:
    """What became of the marked spans of some texts."""

    n_spans: int = 0
    n_overlapping: int = 0
    """Gave way to a longer span that they overlap: one layer of tags holds one of the two."""
    n_misfit: int = 0
    """Begin or end inside a token."""

    def __str__(self) -> str:
        return (
            f"{self.n_spans} spans, of which {self.n_overlapping} overlap a longer one "
            f"and {self.n_misfit} begin or end inside a token"
        )


@dataclass(frozen=True, slots=True)
class TaggedTokens:
    """The tokens of a text: title, separator, rest; with tag ids where the text is labelled."""

    ids: np.ndarray
    """int32 (n_tokens,)."""
    starts: np.ndarray
    """int32 (n_tokens,): first character of each token."""
    stops: np.ndarray
    """int32 (n_tokens,)."""
    n_title: int
    """Tokens of the title; the separator after it is not counted."""
    tags: np.ndarray | None = None
    """int64 (n_tokens,): tag ids, or ``UNKNOWN_TAG``."""

    def __len__(self) -> int:
        return len(self.ids)

    def characters(self, span: ScoredSpan) -> ScoredSpan:
        """Turn a span of tokens into one of characters."""
        return span._replace(start=int(self.starts[span.start]), stop=int(self.stops[span.stop - 1]))


def tokenise_text(example: LabelledText, tokeniser: Tokeniser, *, max_chars: int = 0) -> TaggedTokens:
    """Cut a text into tokens; no token crosses from title to content, and a separator token stands between.

    Given words are looked up as they are, all of them; a word's place is its number.

    Args:
        example: the text; its labels are not read.
        tokeniser: cuts.
        max_chars: where reading stops; 0 reads all.
    """
    if isinstance(tokeniser, WordTokeniser):
        return TaggedTokens(*tokeniser.encode(example.words), n_title=0)
    text = example.text[:max_chars] if max_chars else example.text
    title = tokeniser(text[: example.title_stop])
    parts = [title]
    content_start = 0
    if len(title.ids):
        content_start = example.title_stop + 1
        parts.append(
            Tokens(*np.array([[tokeniser.special.separator], [example.title_stop], [content_start]], np.int32))
        )
    content = tokeniser(text[content_start:])
    parts.append(content._replace(starts=content.starts + content_start, stops=content.stops + content_start))
    ids, starts, stops = (np.concatenate(column) for column in zip(*parts, strict=True))
    return TaggedTokens(ids, starts, stops, len(title.ids))


def tag_text(
    example: LabelledText, tokeniser: Tokeniser, scheme: TagScheme, report: LabelReport | None = None
) -> TaggedTokens:
    """Cut a labelled text into tokens with tag ids.

    Tokens that touch a span which begins or ends inside a token, the rest of a span beaten by a longer one, and
    ranges marked unknown get ``UNKNOWN_TAG``.

    Args:
        example: the text with its spans.
        tokeniser: cuts.
        scheme: tags; it knows the labels of the spans.
        report: is added to.
    """
    report = LabelReport() if report is None else report
    tokens = tokenise_text(example, tokeniser)
    if isinstance(tokeniser, WordTokeniser):
        return _tag_words(example, tokens, scheme, report)
    kept, beaten = choose_spans(example.spans)
    fitting: list[Span] = []
    unknown = [*example.unknown, *((span.start, span.stop) for span in beaten)]
    for span in kept:
        first, last = _touched(tokens, span.start, span.stop)
        if first < last and (tokens.starts[first], tokens.stops[last - 1]) == (span.start, span.stop):
            fitting.append(Span(first, last, span.label))
        else:
            unknown.append((span.start, span.stop))
    tags = np.array([scheme.ids[tag] for tag in scheme.encode(fitting, len(tokens))], dtype=np.int64)
    for start, stop in unknown:
        first, last = _touched(tokens, start, stop)
        tags[first:last][tags[first:last] == 0] = UNKNOWN_TAG
    report.n_spans += len(example.spans)
    report.n_overlapping += len(beaten)
    report.n_misfit += len(kept) - len(fitting)
    return TaggedTokens(tokens.ids, tokens.starts, tokens.stops, tokens.n_title, tags)


def _tag_words(example: LabelledText, tokens: TaggedTokens, scheme: TagScheme, report: LabelReport) -> TaggedTokens:
    """Give each word the id of its label; a word without one is unknown."""
    tags = np.full(len(tokens), UNKNOWN_TAG, dtype=np.int64)
    for start, stop, label in example.spans:
        tags[start:stop] = scheme.ids[label]
    report.n_spans += len(example.spans)
    return TaggedTokens(tokens.ids, tokens.starts, tokens.stops, 0, tags)


def window_tags(tags: np.ndarray, scheme: TagScheme, first: int, last: int) -> np.ndarray:
    """Return the tags of a window; those of an entity that one of its edges cuts become ``UNKNOWN_TAG``."""
    inside = tags[first:last].copy()
    if first > 0:
        inside[: _open_tokens(tags[first - 1 : last], scheme)] = UNKNOWN_TAG
    if last < len(tags):
        backward = tags[first : last + 1][::-1]
        n_cut = _open_tokens(backward, scheme, reverse=True)
        inside[len(inside) - n_cut :] = UNKNOWN_TAG
    return inside


def _open_tokens(tags: np.ndarray, scheme: TagScheme, *, reverse: bool = False) -> int:
    """Count the tags after the first that belong to one entity with it."""
    count = 0
    for before, after in pairwise(tags):
        pair = (after, before) if reverse else (before, after)
        if min(pair) < 0 or not scheme.continues[pair]:
            break
        count += 1
    return count


def _touched(tokens: TaggedTokens, start: int, stop: int) -> tuple[int, int]:
    """Return the range of tokens that share a character with ``[start, stop)``."""
    first = int(np.searchsorted(tokens.stops, start, side="right"))
    return first, max(first, int(np.searchsorted(tokens.starts, stop, side="left")))


def tag_counts(texts: Sequence[TaggedTokens], n_tags: int) -> np.ndarray:
    """Count each tag: int64 (n_tags,)."""
    counts = np.zeros(n_tags, dtype=np.int64)
    for text in texts:
        if text.tags is not None:
            counts += np.bincount(text.tags[text.tags >= 0], minlength=n_tags)
    return counts
