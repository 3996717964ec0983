from __future__ import annotations

from dataclasses import replace

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.lstm import LSTM
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

ITEMS = [
    Target("雨后松果园开门", 2, 5, "松果园", mentions=((2, 5),)),
    Target("松果", 0, 2, "松果"),
    Target("", 0, 0, ""),
]
VOCABULARY = Vocabulary.build((item.text for item in ITEMS), min_count=1)


def build() -> LSTM:
    torch.manual_seed(0)
    return LSTM(TokenEmbedding(len(VOCABULARY), 5), HeadConfig(hidden_dim=4)).eval()


def test_head_equals_a_loop_over_unpadded_rows() -> None:
    head = build()
    [batch] = BatchLoader(ITEMS, VOCABULARY).epoch()
    found, embedded = head(batch), head.embedder(batch)
    for row, index in enumerate(batch.rows.tolist()):
        last = torch.zeros(4)
        if n_tokens := len(ITEMS[index].text):
            last = head.lstm.forwards(embedded[row, None, :n_tokens])[0][0, -1]
        torch.testing.assert_close(found[row], head.classify(last), atol=1e-6, rtol=1e-4)


def test_which_span_is_the_target_changes_nothing() -> None:
    head = build()
    [batch] = BatchLoader([Target("松果园开门", 0, 2, "松果")], VOCABULARY).epoch()
    [other] = BatchLoader([Target("松果园开门", 3, 5, "开门")], VOCABULARY).epoch()
    assert not torch.equal(batch.target.index, other.target.index)
    assert torch.equal(head(replace(other, mentions=batch.mentions)), head(batch))
