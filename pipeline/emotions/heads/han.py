"""HAN: attention over the words of each sentence, then over the sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.emotions.heads.recurrent import recurrent
from pipeline.emotions.heads.sentences import LONGEST_SENTENCE, SentenceGrid
from pipeline.nn.batching import Batch
from pipeline.nn.layers import masked_softmax, weighted_sum


class ContextAttention(nn.Module):
    """Attention under a learnt query: softmax of u . tanh(W h + b) over the steps of h."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.query = nn.Linear(dim, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Weigh states (batch, n, dim) under a bool mask (batch, n): (batch, n), zero where masked."""
        return masked_softmax(self.query(torch.tanh(self.key(states))).squeeze(-1), mask)


class HAN(Head):
    """Hierarchical attention network; a document baseline, it does not look at the target.

    Paper: Yang et al., NAACL 2016. With x_it the vector of token t of sentence i, both levels alike::

        h_it = RNN(x_it)       a_it = softmax_t(u_w tanh(W_w h_it + b_w))      s_i = sum_t a_it h_it
        h_i  = RNN(s_i)        a_i  = softmax_i(u_s tanh(W_s h_i + b_s))       v   = sum_i a_i h_i
        logits = W v + b

    As in the paper, which has one layer both ways: ``head.cell`` gru (torch's update gate is one minus the paper's,
    which names the same functions), and ``head.sentences`` marks, sentences that end at a full stop or line break;
    those over ``LONGEST_SENTENCE`` tokens go on in the next. Deviations: by default a sentence is ``sentence_tokens``
    tokens counted from the start of the text, the last one shorter, of Chinese characters about a clause, and the cell
    is an LSTM; dropout before the last layer.

    Inputs: ``mask`` and ``sentences`` (batch, seq_len). Output: logits (batch, n_classes); the attention of a token is
    a_i a_it.
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.cuts_at_marks = config.sentences == "marks"
        self.sentence_tokens = config.sentence_tokens
        self.words = recurrent(embedder.dim, config, cell=config.cell, both=True)
        self.word_attention = ContextAttention(self.words.dim)
        self.sentences = recurrent(self.words.dim, config, cell=config.cell, both=True)
        self.sentence_attention = ContextAttention(self.sentences.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.sentences.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the attention over the tokens."""
        grid = self.grid(batch)
        # The sentences become rows of their own: (batch * n, m, dim)
        words, _ = self.words(grid.lay_out(self.embedder(batch)).flatten(0, 1), grid.mask.flatten(0, 1))
        of_word = self.word_attention(words, grid.mask.flatten(0, 1))
        vectors = weighted_sum(of_word, words).unflatten(0, grid.mask.shape[:2])
        present = grid.mask.any(2)
        states, _ = self.sentences(vectors, present)
        of_sentence = self.sentence_attention(states, present)
        attention = grid.take_back(of_sentence[..., None] * of_word.unflatten(0, grid.mask.shape[:2]))
        document = weighted_sum(of_sentence, states)
        return HeadOutput(self.classify(self.dropout(document)), attention)

    def grid(self, batch: Batch) -> SentenceGrid:
        """Cut the texts into sentences: n of at most m tokens."""
        if self.cuts_at_marks:
            return SentenceGrid.of(batch.sentences, batch.mask, longest=LONGEST_SENTENCE)
        return SentenceGrid.of(torch.zeros_like(batch.tokens), batch.mask, longest=self.sentence_tokens)
