"""What the scores of tags say of a text: the most probable tags, and the probability of every span. NumPy only.

The forward-backward and Viterbi recursions of a linear chain: Rabiner, Proceedings of the IEEE 1989; for conditional
random fields Lafferty et al., ICML 2001. Rows are padded at the end, and their first step is never padding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipeline.text.spans import TagScheme

FORBIDDEN = -1e4
"""Score of a step that the scheme rules out: exp of it is 0, and gradients stay finite, unlike those of -inf."""

CHAIN = ("first", "transitions", "last")
"""Names of what is learnt of a chain, in the order in which ``TagChain`` takes it."""

SLACK = 1e-3
"""Of a log probability that is only a bound: sums in another order may differ in their last bits."""


class TagScores(NamedTuple):
    """What a network says of a batch of windows."""

    emissions: np.ndarray
    """float32 (batch, window_len, n_tags): log probabilities of independent tags, or scores for the chain."""
    labels: np.ndarray | None = None
    """float32 (batch, window_len, n_labels): log probabilities of the labels, where they have a layer of their own."""


class SpanProbs(NamedTuple):
    """Spans of a batch with their probabilities."""

    row: np.ndarray
    """int64 (n_spans,)."""
    first: np.ndarray
    """int64 (n_spans,): the step at which each begins."""
    length: np.ndarray
    """int64 (n_spans,)."""
    probs: np.ndarray
    """float32 (n_spans, n_labels)."""


class TagChain:
    """A linear chain of tags whose impossible sequences have probability zero.

    Args:
        scheme: gives the tags and which may follow which, at the start, in between and at the end.
        first: float32 (n_tags,), scores of the first tag.
        transitions: float32 (n_tags, n_tags), of a tag after another.
        last: float32 (n_tags,), of the last tag.
    """

    def __init__(self, scheme: TagScheme, first: np.ndarray, transitions: np.ndarray, last: np.ndarray) -> None:
        self.first = _masked(first, ~scheme.may_begin)
        self.between = _masked(transitions, ~scheme.allowed)
        self.last = _masked(last, ~scheme.may_end)
        self._continues, self._begins_span = scheme.continues, scheme.begins_span
        self._label_of = scheme.label_of
        self.n_labels = len(scheme.labels)

    def best_tags(self, emissions: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the most probable tag sequence of each row (Viterbi): int64 (batch, seq_len), 0 at padding."""
        score = emissions[:, 0] + self.first
        origins = []
        for step in range(1, emissions.shape[1]):
            following = score[:, :, None] + self.between
            is_token = mask[:, step, None]
            score = np.where(is_token, following.max(1) + emissions[:, step], score)
            origins.append(np.where(is_token, following.argmax(1), np.arange(score.shape[1])))
        tag = (score + self.last).argmax(1)
        path = [tag]
        for origin in reversed(origins):
            tag = np.take_along_axis(origin, tag[:, None], 1)[:, 0]
            path.append(tag)
        tags: np.ndarray = np.stack(path[::-1], 1) * mask
        return tags

    def spans(self, emissions: np.ndarray, mask: np.ndarray, *, max_length: int, min_prob: float = 0.0) -> SpanProbs:
        """Return the spans that are likely, over all tag sequences that hold exactly this span.

        A start is followed only as long as spans that begin there and go on still reach ``min_prob`` together: most
        steps begin nothing, so that the work is that of the few that do.

        Args:
            emissions: float32 (batch, seq_len, n_tags).
            mask: bool (batch, seq_len).
            max_length: longest span.
            min_prob: lowest probability, summed over the labels; 0 returns every span that fits its row.
        """
        forward = self._forward(emissions, mask)
        # A span that has ended may be followed by any tag that does not continue it.
        after, onward = self._backward(emissions, mask, _masked(self.between, self._continues))
        total = log_sum_exp(forward[:, -1] + self.last, 1)
        going_on = _masked(self.between, ~self._continues)
        lowest = np.log(min_prob) if min_prob else -np.inf
        rows, firsts = mask.nonzero()
        inside = _masked(forward[rows, firsts], ~self._begins_span)
        found = []
        for length in range(1, max_length + 1):
            step = firsts + length - 1
            unfinished = log_sum_exp(inside + onward[rows, step], 1) - total[rows] >= lowest - SLACK
            rows, firsts, step, inside = rows[unfinished], firsts[unfinished], step[unfinished], inside[unfinished]
            ended = inside + after[rows, step] - total[rows, None]
            by_label = [log_sum_exp(ended[:, self._label_of == label], 1) for label in range(self.n_labels)]
            probs = np.minimum(np.exp(np.stack(by_label, 1)), 1.0)
            likely = probs.sum(1) >= min_prob
            found.append((rows[likely], firsts[likely], np.full(likely.sum(), length), probs[likely]))
            fits = step + 1 < mask.shape[1]
            fits &= mask[rows, np.minimum(step + 1, mask.shape[1] - 1)]
            rows, firsts, step, inside = rows[fits], firsts[fits], step[fits], inside[fits]
            if not len(rows):
                break
            inside = log_sum_exp(inside[:, :, None] + going_on, 1) + emissions[rows, step + 1]
        return SpanProbs(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _forward(self, emissions: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return log sums over the sequences up to each step, its emission included: (batch, seq_len, n_tags).

        Padding repeats the step before it.
        """
        sums = np.empty_like(emissions)
        sums[:, 0] = emissions[:, 0] + self.first
        for step in range(1, emissions.shape[1]):
            following = log_sum_exp(sums[:, step - 1, :, None] + self.between, 1) + emissions[:, step]
            sums[:, step] = np.where(mask[:, step, None], following, sums[:, step - 1])
        return sums

    def _backward(self, emissions: np.ndarray, mask: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log sums over what may follow each step, first going ``out`` of it, and whatever comes.

        Both are (batch, seq_len, n_tags).
        """
        leaving, onward = np.empty_like(emissions), np.empty_like(emissions)
        leaving[:, -1] = onward[:, -1] = self.last
        both = np.stack([out, self.between])[:, None]
        for step in range(emissions.shape[1] - 1, 0, -1):
            ahead = (emissions[:, step] + onward[:, step])[None, :, None]
            is_token = mask[:, step, None]
            left, went_on = log_sum_exp(both + ahead, 3)
            leaving[:, step - 1] = np.where(is_token, left, self.last)
            onward[:, step - 1] = np.where(is_token, went_on, self.last)
        return leaving, onward


def log_sum_exp(values: np.ndarray, axis: int) -> np.ndarray:
    """Return log sum exp along an axis of finite values."""
    highest = values.max(axis, keepdims=True)
    total: np.ndarray = np.log(np.exp(values - highest).sum(axis)) + highest.squeeze(axis)
    return total


def _masked(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.where(where, np.float32(FORBIDDEN), values)
