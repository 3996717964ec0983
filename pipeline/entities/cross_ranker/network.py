"""Networks that score candidates by the states of their mentions, and what they are trained on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import CrossConfig
from pipeline.entities.cross_ranker.batches import CrossBatch
from pipeline.nn.encoders.fine_tune import fine_tuning_groups, freeze_lowest
from pipeline.nn.encoders.states import hidden_states


class CrossNetwork(nn.Module):
    """Scores each candidate of a passage from the encoder's last states.

    ``encoder``: first state and mean of the mention states -> dropout -> one logit, as in Nogueira and Cho,
    arXiv:1901.04085, with the mentions added. ``pooled``: mean, first state and their product -> one hidden layer ->
    one logit.

    Args:
        encoder: a transformers model that maps ids, mask and segments to hidden states.
        config: kind of network, dropout, frozen layers.
    """

    def __init__(self, encoder: Any, config: CrossConfig) -> None:
        super().__init__()
        self.encoder = encoder
        self.multiplies = config.name == "pooled"
        hidden = encoder.config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        if self.multiplies:
            self.score: nn.Module = nn.Sequential(
                nn.Linear(3 * hidden, hidden), nn.GELU(), nn.Dropout(config.dropout), nn.Linear(hidden, 1)
            )
        else:
            self.score = nn.Linear(2 * hidden, 1)
        freeze_lowest(encoder, config.encoder.freeze_layers, option="cross.encoder.freeze_layers")

    def forward(self, batch: CrossBatch) -> Tensor:
        """Return the logit of each candidate: float32 (n_scores,), passage by passage."""
        states = hidden_states(self.encoder, batch.tokens, batch.mask, batch.segments)
        with torch.autocast(states.device.type, enabled=False):  # bf16 would make ties of near scores
            states, weights = states.float(), batch.mentions.float()
            mean = weights @ states / weights.sum(dim=2, keepdim=True).clamp(min=1)  # (batch, n_candidates, hidden)
            first = states[:, :1].expand_as(mean)
            parts = [mean, first, mean * first] if self.multiplies else [mean, first]
            logits: Tensor = self.score(self.dropout(torch.cat(parts, dim=2))).squeeze(2)
        return logits[batch.candidates]

    def parameter_groups(self, config: CrossConfig) -> list[dict[str, Any]]:
        """Return a group for each depth of the encoder, and one for what is on top."""
        options = config.encoder
        return fine_tuning_groups(
            self,
            self.encoder,
            encoder_rate=options.learning_rate,
            rate=options.training.learning_rate,
            layer_decay=options.layer_decay,
        )


def binary_loss(logits: Tensor, labels: Tensor, articles: Tensor) -> Tensor:
    """Return the mean binary cross-entropy over candidates; all arguments (n_scores,)."""
    return functional.binary_cross_entropy_with_logits(logits, labels)


def listwise_loss(logits: Tensor, labels: Tensor, articles: Tensor) -> Tensor:
    """Return the mean over articles of the cross-entropy between their gold entities and a softmax over candidates.

    ListNet's top-one loss (Cao et al., ICML 2007) with the mass spread evenly over an article's gold entities;
    articles without any teach nothing.

    Args:
        logits: float (n_scores,).
        labels: float (n_scores,), 1 for gold.
        articles: int64 (n_scores,), number of each candidate's article in the batch.
    """
    members = articles == torch.arange(int(articles.max()) + 1, device=articles.device)[:, None]
    totals = logits.masked_fill(~members, -torch.inf).logsumexp(dim=1)  # (n_articles,)
    n_gold = (members * labels).sum(dim=1)
    share = labels / n_gold.clamp(min=1)[articles]
    n_taught = (n_gold > 0).sum().clamp(min=1)
    return (share * (totals[articles] - logits)).sum() / n_taught


LOSSES = {"binary": binary_loss, "listwise": listwise_loss}
