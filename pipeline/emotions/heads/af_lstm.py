"""AF-LSTM: words and target are fused by circular convolution or correlation, then attended to."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.normalise import NORMALISATIONS
from pipeline.emotions.heads.recurrent import recurrent
from pipeline.nn.batching import Batch
from pipeline.nn.layers import masked_softmax, target_mean, weighted_sum


def circular_convolution(a: Tensor, b: Tensor) -> Tensor:
    """Return ``out[k] = sum_j a[j] b[(k - j) mod dim]`` over the last axis, in O(dim log dim)."""
    return _through_frequencies(torch.fft.rfft(a) * torch.fft.rfft(b), a.shape[-1])


def circular_correlation(a: Tensor, b: Tensor) -> Tensor:
    """Return ``out[k] = sum_j a[j] b[(k + j) mod dim]`` over the last axis, in O(dim log dim)."""
    return _through_frequencies(torch.fft.rfft(a).conj() * torch.fft.rfft(b), a.shape[-1])


def _through_frequencies(product: Tensor, dim: int) -> Tensor:
    return torch.fft.irfft(product, n=dim)  # without n an odd dim would come back one shorter


OPERATORS = {"convolution": circular_convolution, "correlation": circular_correlation}


class AFLSTM(Head):
    """Aspect-fusion LSTM.

    Paper: Tay et al., AAAI 2018, arXiv:1712.05403. With h the LSTM states of the context, s the target and *
    the operator::

        m_i = norm(h_i) * norm(s)      a = softmax(w tanh(W_y m))
        logits = W tanh(W_p sum(a h) + W_x h_last) + b

    ``head.af_normalise`` chooses norm: ``batch`` is the paper's, an optional batch norm of h and s. Deviations: by
    default it is a layer norm, so that a row does not depend on its batch-mates even in training; s is the mean of the
    target's word vectors, mapped to the size of h; dropout before the last layer. The paper's LSTM has one layer and
    reads forwards; with ``head.directions`` both, h_last holds the last state of each direction.

    Inputs: ``mask`` (batch, seq_len), ``target`` (batch, target_len). Output: logits (batch, n_classes).
    """

    uses_target = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.lstm = recurrent(embedder.dim, config)
        hidden = self.lstm.dim
        self.target = nn.Linear(embedder.dim, hidden, bias=config.af_normalise != "batch")  # batch norm takes it off
        self.normalise_context = NORMALISATIONS[config.af_normalise](hidden)
        self.normalise_target = NORMALISATIONS[config.af_normalise](hidden)
        self.fuse = OPERATORS[config.af_operator]
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.attended = nn.Linear(hidden, hidden, bias=False)
        self.last = nn.Linear(hidden, hidden, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(hidden, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the attention over the context."""
        embedded = self.embedder(batch)
        context, last = self.lstm(embedded, batch.mask)
        target = self.target(target_mean(embedded, batch))
        words = self.normalise_context(context, batch.mask)
        fused = self.fuse(words, self.normalise_target(target, batch.target.mask.any(1))[:, None])
        attention = masked_softmax(self.score(torch.tanh(self.key(fused))).squeeze(-1), batch.mask)
        mixed = torch.tanh(self.attended(weighted_sum(attention, context)) + self.last(last))
        return HeadOutput(self.classify(self.dropout(mixed)), attention)
