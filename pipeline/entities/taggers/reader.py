"""A trained tagger reading texts: windows in, spans out. Whatever scores the tags, torch or another engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from pipeline.entities.taggers.data import tokenise_text
from pipeline.entities.taggers.decode import TagChain, TagScores
from pipeline.entities.taggers.settings import TaggerSettings
from pipeline.entities.taggers.window_batches import WindowBatch, WindowBatches
from pipeline.entities.taggers.windows import join_windows
from pipeline.nn.tokenisers import Tokeniser
from pipeline.text.normalise import BREAK
from pipeline.text.spans import LabelledText, ScoredSpan, Span, choose_spans

logger = logging.getLogger(__name__)

PREDICTED_TOGETHER = 16
"""Windows of a batch in prediction: without gradients larger batches than those of training fit the cache."""

LEAST_PROB = 1e-3
"""Probability from which on a span that is chosen gets it said: below, looking for it would cost more than it tells."""

Found = tuple[int, ScoredSpan]
"""Row of a batch, and a span in steps of its window."""


class TagScorer(Protocol):
    """What scores the tags of windows."""

    def __call__(self, batches: Iterator[WindowBatch]) -> Iterator[tuple[WindowBatch, TagScores]]:
        """Yield each batch with its scores."""
        ...


class TaggerReader:
    """Finds the spans of texts by the scores of their tags.

    Args:
        settings: what the tagger is.
        chain: of the tags that ``score`` gives.
        tokeniser: cuts texts.
        score: scores the tags of windows.
    """

    def __init__(self, settings: TaggerSettings, chain: TagChain, tokeniser: Tokeniser, score: TagScorer) -> None:
        self.config, self.scheme, self._chain_scheme = settings.config, settings.scheme, settings.network_scheme
        self.chain, self.tokeniser, self.score = chain, tokeniser, score

    def predict(self, texts: Sequence[LabelledText]) -> list[list[ScoredSpan]]:
        """Return every span whose marginal probability reaches ``min_prob``, in characters and in order.

        Spans of one text may overlap: each is a hypothesis of its own. None crosses a line break. With several labels
        a span comes once for each, with the probability of both; it is their sum that reaches ``min_prob``.
        """
        return self._decode(texts, self._scored_spans)

    def tag(self, texts: Sequence[LabelledText]) -> list[list[Span]]:
        """Return the entities of the most probable tags, in characters, in order and without overlap."""
        found = self._decode(texts, self._best_spans)
        return [choose_spans(Span(start, stop, label) for start, stop, _, label in spans)[0] for spans in found]

    def tag_scored(self, texts: Sequence[LabelledText]) -> list[list[ScoredSpan]]:
        """Return what ``tag`` returns, each span with its marginal probability over all well-formed tags.

        A probability below ``LEAST_PROB`` is given as 0.
        """
        found = self._decode(texts, self._best_scored_spans)
        scores = [{Span(span.start, span.stop, span.label): span for span in spans} for spans in found]
        return [[of_span[span] for span in choose_spans(of_span)[0]] for of_span in scores]

    def _decode(
        self, texts: Sequence[LabelledText], read: Callable[[TagScores, np.ndarray], Iterator[Found]]
    ) -> list[list[ScoredSpan]]:
        """Score windows of the texts, and join what ``read`` finds in them."""
        config = self.config
        tokens = [tokenise_text(text, self.tokeniser, max_chars=config.predict_chars) for text in texts]
        if any(len(text.text) > config.predict_chars > 0 for text in texts):
            _tell_what_is_cut(config.predict_chars)
        batches = WindowBatches(
            *(tokens, self.tokeniser.special, self.scheme),
            batch_size=PREDICTED_TOGETHER,
            window_tokens=config.window_tokens,
            overlap_tokens=config.overlap_tokens,
            title_tokens=config.title_tokens,
        )
        found: dict[int, list[ScoredSpan]] = {}
        for batch, scores in self.score(batches.window_batches()):
            for index, span in read(scores, batch.window):
                found.setdefault(int(batch.rows[index]), []).append(span)
        results = []
        for text, tagged, rows in zip(texts, tokens, batches.rows_of_text, strict=True):
            windows = [batches.windows[row][1] for row in rows]
            joined = join_windows(windows, [found.get(row, []) for row in rows])
            spans = [tagged.characters(span) for span in joined]
            results.append([span for span in spans if BREAK not in text.text[span.start : span.stop]])
        return results

    def _scored_spans(self, scores: TagScores, window: np.ndarray) -> Iterator[Found]:
        config = self.config
        found = self.chain.spans(scores.emissions, window, max_length=config.max_span_tokens, min_prob=config.min_prob)
        labels, of_token = self.scheme.labels, _distributions(scores)
        for row, start, length, of_label in zip(*found, strict=True):
            stop = start + length
            if of_token is not None:
                of_label = of_label * span_labels(of_token[row], start, stop)
            for label, prob in zip(labels, of_label.tolist(), strict=True):
                if (rounded := round(prob, 6)) > 0:
                    yield int(row), ScoredSpan(int(start), int(stop), rounded, label)

    def _best_scored_spans(self, scores: TagScores, window: np.ndarray) -> Iterator[Found]:
        best = list(self._best_spans(scores, window))
        longest = max((span.stop - span.start for _, span in best), default=1)
        found = self.chain.spans(scores.emissions, window, max_length=longest, min_prob=LEAST_PROB)
        places = zip(*(part.tolist() for part in found[:3]), strict=True)
        of_place = dict(zip(places, found.probs, strict=True))
        of_token = _distributions(scores)
        for row, span in best:
            probs = of_place.get((row, span.start, span.stop - span.start))
            label = self.scheme.labels.index(span.label)
            if probs is None:
                prob = 0.0
            elif of_token is None:
                prob = float(probs[label])
            else:
                prob = float(probs[0] * span_labels(of_token[row], span.start, span.stop)[label])
            yield row, span._replace(prob=round(prob, 6))

    def _best_spans(self, scores: TagScores, window: np.ndarray) -> Iterator[Found]:
        names, of_token = self._chain_scheme.tags, _distributions(scores)
        best, lengths = self.chain.best_tags(scores.emissions, window), window.sum(1)
        for row, (tags, length) in enumerate(zip(best.tolist(), lengths.tolist(), strict=True)):
            for start, stop, label in self._chain_scheme.decode([names[tag] for tag in tags[:length]]):
                if of_token is not None:
                    label = self.scheme.labels[int(span_labels(of_token[row], start, stop).argmax())]
                yield row, ScoredSpan(start, stop, 1.0, label)


def span_labels(of_token: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return a span's distribution over labels, (n_labels,): the mean of those of its tokens, (n_tokens, n_labels)."""
    mean: np.ndarray = of_token[start:stop].mean(0)
    return mean


def _distributions(scores: TagScores) -> np.ndarray | None:
    """Return each token's distribution over labels, (batch, window_len, n_labels), where labels have a layer."""
    return None if scores.labels is None else np.exp(scores.labels)


@lru_cache
def _tell_what_is_cut(n_chars: int) -> None:
    logger.info("tagger: reads the first %d characters of a text (tagger.predict_chars)", n_chars)
