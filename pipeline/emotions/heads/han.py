"""HAN: attention over the words of each sentence, then over the sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import MaskedLSTM, masked_softmax, weighted_sum


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

        h_it = LSTM(x_it)      a_it = softmax_t(u_w tanh(W_w h_it + b_w))      s_i = sum_t a_it h_it
        h_i  = LSTM(s_i)       a_i  = softmax_i(u_s tanh(W_s h_i + b_s))       v   = sum_i a_i h_i
        logits = W v + b

    Deviations: a batch holds no sentence boundaries (its ids mean what the vocabulary of a fold says), so a sentence
    is ``sentence_tokens`` tokens counted from the start of the text, the last one shorter: of Chinese characters
    about a clause. Bidirectional LSTMs, where the paper has GRUs; dropout before the last layer.

    Inputs: ``mask`` (batch, seq_len). Output: logits (batch, n_classes); the attention of a token is a_i a_it.
    """

    uses_target = False

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.sentence_tokens = config.sentence_tokens
        self.words = MaskedLSTM(embedder.dim, config.hidden_dim, bidirectional=True)
        self.word_attention = ContextAttention(self.words.dim)
        self.sentences = MaskedLSTM(self.words.dim, config.hidden_dim, bidirectional=True)
        self.sentence_attention = ContextAttention(self.sentences.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.sentences.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits, and the attention over the tokens."""
        size, seq_len = self.sentence_tokens, batch.mask.shape[1]
        missing = -seq_len % size
        n_sentences = (seq_len + missing) // size
        # (batch, seq_len, ...) -> (batch * n_sentences, size, ...): the sentences are rows of their own
        mask = functional.pad(batch.mask, (0, missing)).unflatten(1, (n_sentences, size))
        embedded = functional.pad(self.embedder(batch), (0, 0, 0, missing))
        words, _ = self.words(embedded.unflatten(1, (n_sentences, size)).flatten(0, 1), mask.flatten(0, 1))
        of_word = self.word_attention(words, mask.flatten(0, 1))
        vectors = weighted_sum(of_word, words).unflatten(0, (len(batch), n_sentences))
        present = mask.any(2)
        states, _ = self.sentences(vectors, present)
        of_sentence = self.sentence_attention(states, present)
        attention = (of_sentence[..., None] * of_word.unflatten(0, (len(batch), n_sentences))).flatten(1)
        document = weighted_sum(of_sentence, states)
        return HeadOutput(self.classify(self.dropout(document)), attention[:, :seq_len])
