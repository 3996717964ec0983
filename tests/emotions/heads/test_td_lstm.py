from __future__ import annotations

import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.td_lstm import TDLSTM
from pipeline.nn.batching import BatchLoader, Positions
from pipeline.nn.layers import TokenEmbedding, TwoSidedLSTM, join
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


def test_join_closes_the_gaps() -> None:
    first = Positions(
        torch.tensor([[0, 1, 2], [0, 0, 0], [0, 0, 0]]),
        torch.tensor([[True, True, True], [True, False, False], [False, False, False]]),
    )
    second = Positions(
        torch.tensor([[3, 0], [1, 2], [0, 0]]), torch.tensor([[True, False], [True, True], [False, False]])
    )
    found = join(first, second)
    assert found.index.tolist() == [[0, 1, 2, 3, 0], [0, 1, 2, 0, 0], [0, 0, 0, 0, 0]]
    assert found.mask.sum(1).tolist() == [4, 3, 0]
    assert (found.mask.int().diff(dim=1) <= 0).all()


def test_forget_gates_start_open() -> None:
    torch.manual_seed(0)
    lstm = TwoSidedLSTM(3, 4)
    for side in (lstm.left, lstm.right):
        ones = side.forwards.bias_ih_l0 == 1
        assert ones.tolist() == [False] * 4 + [True] * 4 + [False] * 8  # torch's order: input, forget, cell, output


def test_head_equals_a_loop_over_unpadded_rows() -> None:
    vocabulary = Vocabulary.build((item.text for item in ITEMS), min_count=1)
    [batch] = BatchLoader(ITEMS, vocabulary).epoch()
    torch.manual_seed(0)
    head = TDLSTM(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=4)).eval()
    found, embedded = head(batch), head.embedder(batch)
    left, right = torch.nn.LSTM(5, 4), torch.nn.LSTM(5, 4)
    left.load_state_dict(head.lstm.left.forwards.state_dict())
    right.load_state_dict(head.lstm.right.forwards.state_dict())

    def last(lstm: torch.nn.LSTM, words: torch.Tensor) -> torch.Tensor:
        return lstm(words)[0][-1] if len(words) else torch.zeros(4)

    for row, index in enumerate(batch.rows.tolist()):
        item = ITEMS[index]
        words = embedded[row, : len(item.text)]
        pair = torch.cat([last(left, words[: item.stop]), last(right, words[item.start :].flip(0))])
        torch.testing.assert_close(found[row], head.classify(pair), atol=1e-6, rtol=1e-4)
