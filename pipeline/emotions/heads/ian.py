"""IAN: context and target attend to each other."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.recurrent import recurrent
from pipeline.nn.batching import Batch
from pipeline.nn.layers import gather, masked_mean, masked_softmax, weighted_sum


class BilinearAttention(nn.Module):
    """Attention of one sequence under the average of another: softmax of tanh(h W q + b) over the steps of h."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, dim))
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, states: Tensor, query: Tensor, mask: Tensor) -> Tensor:
        """Weigh states (batch, n, hidden) by query (batch, hidden): (batch, n), zero where masked."""
        scores = torch.einsum("bnh,hk,bk->bn", states, self.weight, query) + self.bias
        return masked_softmax(torch.tanh(scores), mask)


class IAN(Head):
    """Interactive attention network.

    Paper: Ma et al., IJCAI 2017, arXiv:1709.00893. With c and t the LSTM states of context and target::

        alpha = softmax(tanh(c W_c mean(t) + b_c))      beta = softmax(tanh(t W_t mean(c) + b_t))
        logits = W tanh(W_l [sum alpha c; sum beta t] + b_l) + b

    Deviations: the context is the whole text, target included; the non-linear layer keeps the size of one state and
    a linear one follows it (the paper goes to the classes at once); dropout between the two. The paper's
    LSTMs have one layer and read forwards.

    Inputs: ``mask`` (batch, seq_len), ``target`` (batch, target_len). Output: logits (batch, n_classes).
    """

    uses_target = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.context_lstm = recurrent(embedder.dim, config)
        self.target_lstm = recurrent(embedder.dim, config)
        hidden = self.context_lstm.dim
        self.context_attention = BilinearAttention(hidden)
        self.target_attention = BilinearAttention(hidden)
        self.mix = nn.Linear(2 * hidden, hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(hidden, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the weights alpha over the context."""
        embedded = self.embedder(batch)
        context, _ = self.context_lstm(embedded, batch.mask)
        target, _ = self.target_lstm(gather(embedded, batch.target), batch.target.mask)
        alpha = self.context_attention(context, masked_mean(target, batch.target.mask), batch.mask)
        beta = self.target_attention(target, masked_mean(context, batch.mask), batch.target.mask)
        pair = torch.cat([weighted_sum(alpha, context), weighted_sum(beta, target)], dim=1)
        return HeadOutput(self.classify(self.dropout(torch.tanh(self.mix(pair)))), alpha)
