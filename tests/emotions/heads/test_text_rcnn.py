from __future__ import annotations

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.text_rcnn import TextRCNN
from pipeline.nn.layers import TokenEmbedding


def test_each_token_stands_between_what_was_read_before_and_after_it() -> None:
    torch.manual_seed(0)
    head = TextRCNN(TokenEmbedding(2, 3), HeadConfig(hidden_dim=2))
    lengths = [4, 1, 0]
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    embedded = torch.randn(3, 5, 3)
    found = head.surround(embedded, mask)
    assert found.shape == (3, 5, 7)
    assert not found[~mask].any()
    for row, length in enumerate(lengths):
        for i in range(length):
            before, after = embedded[row, :i], embedded[row, i + 1 : length].flip(0)
            left = head.lstm.forwards(before[None])[0][0, -1] if i else torch.zeros(2)
            right = head.lstm.backwards(after[None])[0][0, -1] if i + 1 < length else torch.zeros(2)
            torch.testing.assert_close(found[row, i], torch.cat([left, embedded[row, i], right]))
