"""Linear-chain conditional random field whose impossible tag sequences have probability zero.

Reference: Lafferty et al., ICML 2001. Rows are padded at the end, and their first step is never padding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pipeline.text.spans import TagScheme

FORBIDDEN = -1e4
"""Score of a step that the scheme rules out: exp of it is 0, and gradients stay finite, unlike those of -inf."""

SLACK = 1e-3
"""Of a log probability that is only a bound: sums in another order may differ in their last bits."""


class SpanProbs(NamedTuple):
    """Spans of a batch with their probabilities."""

    row: Tensor
    """int64 (n_spans,)."""
    first: Tensor
    """int64 (n_spans,): the step at which each begins."""
    length: Tensor
    """int64 (n_spans,)."""
    probs: Tensor
    """float32 (n_spans, n_labels)."""


class CRF(nn.Module):
    """Scores of tag sequences: the sum of emissions, transitions, and scores of the first and last tag.

    Args:
        scheme: gives the tags and which may follow which, at the start, in between and at the end.
        learns: False keeps all allowed transitions at 0. On log-softmax emissions, that is independent
            classification of each step, restricted to well-formed sequences.
    """

    def __init__(self, scheme: TagScheme, *, learns: bool = True) -> None:
        super().__init__()
        n_tags = len(scheme.tags)
        self.transitions = nn.Parameter(torch.zeros(n_tags, n_tags), requires_grad=learns)
        self.first = nn.Parameter(torch.zeros(n_tags), requires_grad=learns)
        self.last = nn.Parameter(torch.zeros(n_tags), requires_grad=learns)
        # Buffers follow the module to its device; these are known from the scheme, so they are not saved.
        self._allowed: Tensor
        self._may_begin: Tensor
        self._may_end: Tensor
        self._continues: Tensor
        self._begins_span: Tensor
        for name in ("allowed", "may_begin", "may_end", "continues", "begins_span"):
            self.register_buffer(f"_{name}", torch.from_numpy(getattr(scheme, name)), persistent=False)
        self._label_of = scheme.label_of
        self.n_labels = len(scheme.labels)

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Return the log probability of each row's tags.

        Args:
            emissions: float32 (batch, seq_len, n_tags).
            tags: int64 (batch, seq_len); a negative tag is unknown, and summed over.
            mask: bool (batch, seq_len).

        Returns:
            float32 (batch,).
        """
        total = self._log_total(emissions, mask)
        if bool((tags[mask] >= 0).all()):
            return self._score(emissions, tags, mask) - total
        of_tag = torch.arange(emissions.shape[-1], device=tags.device)
        possible = (tags[..., None] == of_tag) | (tags[..., None] < 0)
        return self._log_total(emissions.masked_fill(~possible, FORBIDDEN), mask) - total

    def best_tags(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return the most probable tag sequence of each row (Viterbi): int64 (batch, seq_len), 0 at padding."""
        first, between, last = self._scores()
        score = emissions[:, 0] + first
        origins = []
        for step in range(1, emissions.shape[1]):
            best, origin = (score[:, :, None] + between).max(1)
            is_token = mask[:, step, None]
            score = torch.where(is_token, best + emissions[:, step], score)
            origins.append(torch.where(is_token, origin, torch.arange(origin.shape[1], device=origin.device)))
        tag = (score + last).argmax(1)
        path = [tag]
        for origin in reversed(origins):
            tag = origin.gather(1, tag[:, None])[:, 0]
            path.append(tag)
        return torch.stack(path[::-1], 1) * mask

    def spans(self, emissions: Tensor, mask: Tensor, *, max_length: int, min_prob: float = 0.0) -> SpanProbs:
        """Return the spans that are likely, over all tag sequences that hold exactly this span.

        A start is followed only as long as spans that begin there and go on still reach ``min_prob`` together: most
        steps begin nothing, so that the work is that of the few that do.

        Args:
            emissions: float32 (batch, seq_len, n_tags).
            mask: bool (batch, seq_len).
            max_length: longest span.
            min_prob: lowest probability, summed over the labels; 0 returns every span that fits its row.
        """
        _, between, last = self._scores()
        forward = self._forward(emissions, mask)
        # A span that has ended may be followed by any tag that does not continue it.
        after, onward = self._backward(emissions, mask, between.masked_fill(self._continues, FORBIDDEN), between)
        total = (forward[:, -1] + last).logsumexp(1)
        going_on = between.masked_fill(~self._continues, FORBIDDEN)
        lowest = torch.tensor(min_prob, device=emissions.device).log()
        rows, firsts = mask.nonzero(as_tuple=True)
        inside = forward[rows, firsts].masked_fill(~self._begins_span, FORBIDDEN)
        found = []
        for length in range(1, max_length + 1):
            step = firsts + length - 1
            unfinished = (inside + onward[rows, step]).logsumexp(1) - total[rows] >= lowest - SLACK
            rows, firsts, step, inside = rows[unfinished], firsts[unfinished], step[unfinished], inside[unfinished]
            ended = inside + after[rows, step] - total[rows, None]
            by_label = [ended[:, self._label_of == label].logsumexp(1) for label in range(self.n_labels)]
            probs = torch.stack(by_label, 1).exp().clamp(max=1.0)
            likely = probs.sum(1) >= min_prob
            found.append((rows[likely], firsts[likely], torch.full_like(rows[likely], length), probs[likely]))
            fits = step + 1 < mask.shape[1]
            fits &= mask[rows, (step + 1).clamp(max=mask.shape[1] - 1)]
            rows, firsts, step, inside = rows[fits], firsts[fits], step[fits], inside[fits]
            if not len(rows):
                break
            inside = (inside[:, :, None] + going_on).logsumexp(1) + emissions[rows, step + 1]
        return SpanProbs(*(torch.cat(parts) for parts in zip(*found, strict=True)))

    def _scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores of the first tag, of each transition, and of the last tag, constraints applied."""
        return (
            self.first.masked_fill(~self._may_begin, FORBIDDEN),
            self.transitions.masked_fill(~self._allowed, FORBIDDEN),
            self.last.masked_fill(~self._may_end, FORBIDDEN),
        )

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Return the score of one known sequence a row: float32 (batch,)."""
        first, between, last = self._scores()
        tags = tags.clamp(min=0)  # those of padding are masked below
        of_step = emissions.gather(2, tags[..., None])[..., 0] * mask
        of_transition = between[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]
        end = tags.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
        return first[tags[:, 0]] + of_step.sum(1) + of_transition.sum(1) + last[end]

    def _log_total(self, emissions: Tensor, mask: Tensor) -> Tensor:
        return (self._forward(emissions, mask)[:, -1] + self._scores()[2]).logsumexp(1)

    def _forward(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return log sums over the sequences up to each step, its emission included: (batch, seq_len, n_tags).

        Padding repeats the step before it.
        """
        first, between, _ = self._scores()
        sums = [emissions[:, 0] + first]
        for step in range(1, emissions.shape[1]):
            following = (sums[-1][:, :, None] + between).logsumexp(1) + emissions[:, step]
            sums.append(torch.where(mask[:, step, None], following, sums[-1]))
        return torch.stack(sums, 1)

    def _backward(self, emissions: Tensor, mask: Tensor, out: Tensor, between: Tensor) -> tuple[Tensor, Tensor]:
        """Return log sums over what may follow each step, first going ``out`` of it, and whatever comes.

        Both are (batch, seq_len, n_tags).
        """
        last = self._scores()[2].expand_as(emissions[:, 0])
        onward, leaving = [last], [last]
        for step in range(emissions.shape[1] - 1, 0, -1):
            ahead = (emissions[:, step] + onward[-1])[:, None]
            is_token = mask[:, step, None]
            leaving.append(torch.where(is_token, (out + ahead).logsumexp(2), last))
            onward.append(torch.where(is_token, (between + ahead).logsumexp(2), last))
        return torch.stack(leaving[::-1], 1), torch.stack(onward[::-1], 1)
