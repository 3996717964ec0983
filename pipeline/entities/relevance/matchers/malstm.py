"""MaLSTM: the Manhattan distance of two texts' last states."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch, Side
from pipeline.entities.relevance.matchers.measures import MEASURES
from pipeline.nn.layers import MaskedRNN

FORGET_BIAS = 2.5
INITIAL_STD = 0.1


class MaLSTM(Matcher):
    """One LSTM reads both texts; their similarity is exp(-distance).

    Paper: Mueller and Thyagarajan, AAAI 2016. With h the last state of the shared LSTM::

        s = exp(-||h_left - h_right||_1)      logit = log(s / (1 - s)) = -d - log(1 - exp(-d)),  d = -log s

    As in the paper, weights start small (standard deviation 0.1) and the forget gates open (bias 2.5): from torch's
    start the distance of 48 dimensions is so large that its similarity, and the gradient of a squared error, vanish.
    Deviations: token vectors are learnt from random starts, not word2vec; dropout on them; trained by AdamW; no
    regression on top of the similarity (the reranker takes it as it is). Two empty texts are equal, but for
    ``cosine``, under which an empty text is halfway from any other.

    Options (``relevance.malstm``): ``similarity`` (see ``Measure``; the paper found cosine a little worse, and warns of
    the plateaus of an L2 norm), ``tied`` (the paper ties, and names untied weights for texts of unlike kinds), ``cell``
    and ``n_layers``, which are not the paper's. With ``linear``::

        logit = w . [h_left; h_right] + b

    a sum of one term for each text, so that no weights make it depend on whether the two are alike.

    Output: logits (batch,); with the default, at most about 13.8, that of a distance of ``SMALLEST_DISTANCE``.
    """

    def __init__(self, n_tokens: int, config: RelevanceConfig) -> None:
        super().__init__(n_tokens, config)
        options, hidden = config.malstm, config.hidden_dim
        self.measure = MEASURES.get(options.similarity)
        self.lstm = _layer(config, config.embedding_dim)
        self.upper = _layer(config, hidden) if options.n_layers > 1 else None
        self.right_lstm = None if options.tied else _layer(config, config.embedding_dim)
        self.right_upper = None if options.tied or self.upper is None else _layer(config, hidden)
        self.linear = nn.Linear(2 * hidden, 1) if self.measure is None else None

    def forward(self, batch: PairBatch) -> Tensor:
        """Return the logits (batch,)."""
        left, right = self.encodings(batch)
        if self.measure is not None:
            return self.measure.to_logit(self.measure.distance(left, right))
        assert self.linear is not None
        logits: Tensor = self.linear(torch.cat([left, right], dim=1))
        return logits[:, 0]

    def encodings(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Return the last states of the two texts, float32 (batch, hidden) each."""
        return (
            self._last_state(batch.left, self.lstm, self.upper),
            self._last_state(batch.right, self.right_lstm or self.lstm, self.right_upper or self.upper),
        )

    def distance_of(self, logits: Tensor) -> Tensor:
        """Return the distance of the two encodings from the logit that it gave."""
        return super().distance_of(logits) if self.measure is None else self.measure.of_logit(logits)

    def _last_state(self, side: Side, lower: MaskedRNN, upper: MaskedRNN | None) -> Tensor:
        states, final = lower(self.embed(side), side.mask)
        if upper is not None:
            _, final = upper(states, side.mask)
        return final


def _layer(config: RelevanceConfig, input_dim: int) -> MaskedRNN:
    """Build a recurrent layer with the paper's first weights; a GRU has no forget gate to open."""
    hidden, cell = config.hidden_dim, config.malstm.cell
    layer = MaskedRNN(input_dim, hidden, cell=cell)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if "weight" in name:
                parameter.normal_(std=INITIAL_STD)
            else:
                parameter.zero_()
            if cell == "lstm" and name.endswith("bias_ih_l0"):  # torch's order of gates: input, forget, cell, output
                parameter[hidden : 2 * hidden] = FORGET_BIAS
    return layer
