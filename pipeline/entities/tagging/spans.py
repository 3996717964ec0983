"""Between articles and spans: names to labelled spans, scored spans to candidates and to columns that describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from pipeline.entities.candidates import LEAD_CHARS, CandidateSet
from pipeline.text import Document, match_key
from pipeline.text.dictionary import Matcher, has_word_boundaries
from pipeline.text.spans import LabelledText, ScoredSpan, Span

COLUMNS = ("max", "sum", "mean", "n", "title_max", "lead_max", "share", "rival_max")
"""Names of the columns of ``tagger_columns``, in order."""


def mention_spans(document: Document, labels: Mapping[str, str]) -> list[Span]:
    """Find every mention of some names, whatever their case and width, as spans of ``document.text`` in order.

    A name that begins or ends with a Latin letter or digit is not found inside a longer Latin run.

    Args:
        document: the article.
        labels: name, in any spelling, to the label of its spans.
    """
    of_key: dict[str, str] = {}
    for name, label in labels.items():
        if key := match_key(name):
            of_key.setdefault(key, label)
    text = document.text
    return sorted(Span(start, stop, of_key[text[start:stop]]) for start, stop in Matcher(of_key).find(text))


def article_text(document: Document, labels: Mapping[str, str] | None = None) -> LabelledText:
    """Return an article as a tagger reads it, with every mention of the given names marked.

    Where the article is cut off, an end that could be the beginning of such a name is marked as unknown.

    Args:
        document: the article.
        labels: name to label; none for an article that is to be tagged.
    """
    labels = labels or {}
    text = document.text
    spans = mention_spans(document, labels)
    unknown: tuple[tuple[int, int], ...] = ()
    if document.article.truncated:
        keys = [match_key(name) for name in labels]
        cut = max((n for key in keys for n in range(1, len(key)) if text.endswith(key[:n])), default=0)
        unknown = ((len(text) - cut, len(text)),) if cut else ()
    return LabelledText(text, tuple(spans), title_stop=len(document.title.text), unknown=unknown)


def gold_text(document: Document) -> LabelledText:
    """Return a training article with the mentions of its core entities marked."""
    return article_text(document, {entity.name: "" for entity in document.article.entities or ()})


def tagger_keys(document: Document, spans: Sequence[ScoredSpan], *, min_prob: float = 0.0) -> list[str]:
    """Return the distinct strings that scored spans offer as candidates, in order of first occurrence."""
    text = document.text
    return list(
        dict.fromkeys(
            text[span.start : span.stop]
            for span in spans
            if span.prob >= min_prob and has_word_boundaries(text, span.start, span.stop)
        )
    )


def tagger_columns(candidates: CandidateSet, spans: Sequence[ScoredSpan]) -> dict[str, np.ndarray]:
    """Describe each candidate by the scores of its mentions; a mention without a score counts as 0.

    Returns:
        float64 (n_candidates,) each: ``max``, ``sum``, ``mean`` (over the mentions with a score) and ``n`` of the
        scores; ``title_max`` and ``lead_max``, the best in the title and in the beginning of the content; ``share``,
        ``max`` relative to the article's best candidate; ``rival_max``, the best score of a span that overlaps
        a mention without being it.
    """
    if not len(candidates) or not spans:
        return {name: np.zeros(len(candidates)) for name in COLUMNS}
    document, begins = candidates.document, candidates.offsets[:-1]
    starts = candidates.starts.astype(np.int64)
    stops = starts + np.repeat(candidates.lengths, candidates.counts)
    prob_of: dict[tuple[int, int], float] = {}
    for span in spans:
        prob_of[span.start, span.stop] = min(1.0, prob_of.get((span.start, span.stop), 0.0) + span.prob)
    probs = np.array([prob_of.get(place, 0.0) for place in zip(starts.tolist(), stops.tolist(), strict=True)])

    def best(scores: np.ndarray) -> np.ndarray:
        return np.maximum.reduceat(scores, begins)

    total, count = np.add.reduceat(probs, begins), np.add.reduceat((probs > 0).astype(np.float64), begins)
    in_title = stops <= document.content_start
    in_lead = ~in_title & (stops <= document.content_start + LEAD_CHARS)
    highest = best(probs)
    columns = (
        highest,
        total,
        total / np.maximum(count, 1),
        count,
        best(probs * in_title),
        best(probs * in_lead),
        highest / max(float(highest.max()), 1e-9),
        best(_rivals(starts, stops, prob_of)),
    )
    return dict(zip(COLUMNS, columns, strict=True))


def _rivals(starts: np.ndarray, stops: np.ndarray, prob_of: Mapping[tuple[int, int], float]) -> np.ndarray:
    """Return for each mention the best score of another span that overlaps it, 0 where none does."""
    if not prob_of:
        return np.zeros(len(starts))
    spans = sorted(prob_of)
    firsts = np.array([first for first, _ in spans], dtype=np.int64)
    probs = np.array([prob_of[span] for span in spans])
    place_of = {span: place for place, span in enumerate(spans)}
    # Those that begin inside the mention, less the mention itself, which splits them into two ranges ...
    low, high = np.searchsorted(firsts, starts), np.searchsorted(firsts, stops)
    own = np.array([place_of.get(span, -1) for span in zip(starts.tolist(), stops.tolist(), strict=True)])
    stop = np.where(own < 0, high, own)
    inside = np.maximum(_range_maxima(probs, low, stop), _range_maxima(probs, np.where(own < 0, high, own + 1), high))
    # ... and those that began before it and have not ended.
    return np.maximum(inside, _open_maxima(spans, probs, starts))


def _range_maxima(values: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Return the largest of ``values[low:high]`` for each range, 0 where it is empty; no value is negative."""
    found = np.zeros(len(lows))
    lengths = highs - lows
    longest = int(lengths.max(initial=0))
    best, width = values, 1  # best[i] is the largest of values[i : i + width]
    while width <= longest:
        rows = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        found[rows] = np.maximum(best[lows[rows]], best[highs[rows] - width])
        best, width = np.maximum(best[:-width], best[width:]), 2 * width
    return found


def _open_maxima(spans: Sequence[tuple[int, int]], probs: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the largest score of a span that begins before each place and stops after it, 0 where there is none.

    Args:
        spans: half-open, in order.
        probs: of the spans.
        places: in any order.
    """
    found = np.zeros(len(places))
    waiting: list[tuple[float, int]] = []  # the best first; those that have stopped go when they come to the top
    entered = 0
    for row in np.argsort(places, kind="stable").tolist():
        place = int(places[row])
        while entered < len(spans) and spans[entered][0] < place:
            heappush(waiting, (-float(probs[entered]), spans[entered][1]))
            entered += 1
        while waiting and waiting[0][1] <= place:
            heappop(waiting)
        if waiting:
            found[row] = -waiting[0][0]
    return found
