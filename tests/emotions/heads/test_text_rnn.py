from __future__ import annotations

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.text_rnn import TextRNN
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target


def test_head_equals_both_directions_over_one_row() -> None:
    items = [Target(text, 0, 0, "") for text in ("雨后松果园开门", "松果")]
    vocabulary = Vocabulary.build((item.text for item in items), min_count=1)
    [batch] = BatchLoader(items, vocabulary).epoch()
    torch.manual_seed(0)
    head = TextRNN(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=4)).eval()
    logits, embedded = head(batch), head.embedder(batch)
    for row, index in enumerate(batch.rows.tolist()):
        words = embedded[row : row + 1, : len(items[index].text)]
        _, (forwards, _) = head.lstm.forwards(words)
        _, (backwards, _) = head.lstm.backwards(words.flip(1))
        torch.testing.assert_close(logits[row], head.classify(torch.cat([forwards[0, 0], backwards[0, 0]])))
