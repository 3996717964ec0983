from __future__ import annotations

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.tc_lstm import TCLSTM
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding, append_vector
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

ITEMS = [
    Target("雨后松果园开门", 2, 5, "松果园", mentions=((2, 5),)),
    Target("松果又香又甜", 0, 2, "松果", mentions=((0, 2),)),
    Target("人人爱茶", 3, 4, "茶", mentions=((3, 4),)),
    Target("茶", 0, 1, "茶", mentions=((0, 1),)),
    Target("今天下雨", 0, 0, "松果"),
    Target("", 0, 0, "松果"),
]


def test_vector_goes_to_every_state_of_its_row() -> None:
    found = append_vector(torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), torch.tensor([[5.0, 6.0], [7.0, 8.0]]))
    assert found.tolist() == [[[1, 5, 6], [2, 5, 6]], [[3, 7, 8], [4, 7, 8]]]


def test_head_equals_a_loop_over_unpadded_rows() -> None:
    vocabulary = Vocabulary.build((item.text for item in ITEMS), min_count=1)
    [batch] = BatchLoader(ITEMS, vocabulary).epoch()
    torch.manual_seed(0)
    head = TCLSTM(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=4)).eval()
    found, embedded = head(batch), head.embedder(batch)
    left, right = torch.nn.LSTM(10, 4), torch.nn.LSTM(10, 4)
    left.load_state_dict(head.lstm.left.forwards.state_dict())
    right.load_state_dict(head.lstm.right.forwards.state_dict())

    def last(lstm: torch.nn.LSTM, words: list[torch.Tensor]) -> torch.Tensor:
        return lstm(torch.stack(words))[0][-1] if words else torch.zeros(4)

    for row, index in enumerate(batch.rows.tolist()):
        item = ITEMS[index]
        words = embedded[row, : len(item.text)]
        target = words[item.start : item.stop].mean(0) if item.stop > item.start else torch.zeros(5)
        joined = [torch.cat([word, target]) for word in words]
        pair = torch.cat([last(left, joined[: item.stop]), last(right, joined[item.start :][::-1])])
        torch.testing.assert_close(found[row], head.classify(pair), atol=1e-6, rtol=1e-4)
