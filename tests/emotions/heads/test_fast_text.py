from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.fast_text import FastText, bigram_ids
from pipeline.nn.batching import Batch, BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

TEXTS = ["雨后松果园开门", "松果", "园", ""]


def batch_and_size() -> tuple[Batch, int]:
    vocabulary = Vocabulary.build(TEXTS, min_count=1)
    [batch] = BatchLoader([Target(text, 0, 0, "") for text in TEXTS], vocabulary).epoch()
    return batch, len(vocabulary)


def test_vector_is_the_mean_of_tokens_and_bigrams() -> None:
    batch, n_tokens = batch_and_size()
    torch.manual_seed(0)
    head = FastText(TokenEmbedding(n_tokens, 5), HeadConfig(bigram_buckets=7))
    found = head.pool(head.embedder(batch), batch)
    for row, index in enumerate(batch.rows.tolist()):
        ids = batch.tokens[row, : len(TEXTS[index])].tolist()
        vectors = [head.embedder.tokens.weight[i] for i in ids]
        vectors += [head.bigrams.weight[(a * 116_049_371 + b) % 7] for a, b in pairwise(ids)]
        expected = torch.stack(vectors).mean(0) if vectors else torch.zeros(5)
        torch.testing.assert_close(found[row], expected)


def test_without_buckets_it_is_the_mean_of_the_tokens() -> None:
    batch, n_tokens = batch_and_size()
    head = FastText(TokenEmbedding(n_tokens, 5), HeadConfig(bigram_buckets=0)).eval()
    assert head.bigrams is None
    turned = replace(batch, tokens=batch.tokens.flip(1), mask=batch.mask.flip(1))
    torch.testing.assert_close(head(turned), head(batch))


def test_bigrams_are_ordered_and_within_the_buckets() -> None:
    ids = bigram_ids(torch.tensor([[5, 9, 5, 9, 50_000]]), 1000)
    assert ids.shape == (1, 4)
    assert ids[0, 0] == ids[0, 2] != ids[0, 1]
    assert ((ids >= 0) & (ids < 1000)).all()
    assert bigram_ids(torch.tensor([[5]]), 1000).shape == (1, 0)
