"""Linear-chain conditional random field whose impossible tag sequences have probability zero.

Reference: Lafferty et al., ICML 2001. Rows are padded at the end, and their first step is never padding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.entities.taggers.decode import CHAIN, FORBIDDEN, TagChain
from pipeline.text.spans import TagScheme


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
        for name in ("allowed", "may_begin", "may_end"):
            self.register_buffer(f"_{name}", torch.from_numpy(getattr(scheme, name)), persistent=False)
        self._scheme = scheme

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

    def chain(self) -> TagChain:
        """Return the same scores for decoding, as they are now."""
        scores = (getattr(self, name).detach().float().cpu().numpy().copy() for name in CHAIN)
        return TagChain(self._scheme, *scores)

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
