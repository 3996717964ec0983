"""AT-LSTM and ATAE-LSTM, and the attention that they share."""

from __future__ import annotations

import pytest
import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.at_lstm import ATLSTM
from pipeline.emotions.heads.atae_lstm import ATAELSTM
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TargetAttention, TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

ITEMS = [
    Target("雨后松果园开门", 2, 5, "松果园", mentions=((2, 5),)),
    Target("人人爱茶", 3, 4, "茶", mentions=((3, 4),)),
    Target("松果", 0, 2, "松果", mentions=((0, 2),)),
    Target("今天下雨", 0, 0, "松果"),
]


def test_attention_by_hand() -> None:
    attend = TargetAttention(2, 1)
    attend.key.weight.data = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    attend.query.weight.data = torch.tensor([[0.5], [-1.0]])
    attend.score.weight.data = torch.tensor([[2.0, 1.0]])
    attend.attended.weight.data = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    attend.last.weight.data = torch.tensor([[0.5, 0.0], [0.0, 0.5]])
    h = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    found, weights = attend(h, h[:, 1], torch.tensor([[1.0]]), mask)
    # W_h h + W_v v = (1.5, -1) and (0.5, 1); tanh (0.905148, -0.761594) and (0.462117, 0.761594);
    # scores 1.048702 and 1.685828, so a_1 = 1 / (1 + exp(0.637126)) = 0.345896
    torch.testing.assert_close(weights, torch.tensor([[0.345896, 0.654104, 0.0]]), atol=1e-6, rtol=0)
    # sum(a h) = (0.345896, 0.654104); W_p of it (1, 0.654104); W_x h_last = (0, 0.5); tanh(1) and tanh(1.154104)
    torch.testing.assert_close(found, torch.tensor([[0.761594, 0.819109]]), atol=1e-6, rtol=0)


def test_target_moves_the_attention_which_the_paper_s_own_equation_would_not_let_it() -> None:
    torch.manual_seed(0)
    attend = TargetAttention(4, 3)
    h, mask = torch.randn(2, 6, 4), torch.ones(2, 6, dtype=torch.bool)
    v, other = torch.randn(2, 2, 3)
    assert not torch.allclose(attend(h, h[:, -1], v, mask)[1], attend(h, h[:, -1], other, mask)[1], atol=1e-3)

    def as_printed(target: torch.Tensor) -> torch.Tensor:
        m = torch.tanh(torch.cat([attend.key(h), attend.query(target)[:, None].expand(-1, 6, -1)], dim=-1))
        return torch.softmax(m @ torch.linspace(-1, 2, 8), dim=1)

    torch.testing.assert_close(as_printed(v), as_printed(other))


@pytest.mark.parametrize("kind", [ATLSTM, ATAELSTM])
def test_head_equals_a_loop_over_tokens(kind: type[ATLSTM] | type[ATAELSTM]) -> None:
    vocabulary = Vocabulary.build((item.text for item in ITEMS), min_count=1)
    [batch] = BatchLoader(ITEMS, vocabulary).epoch()
    torch.manual_seed(0)
    head = kind(TokenEmbedding(len(vocabulary), 5), HeadConfig(hidden_dim=4)).eval()
    found, embedded, attend = head.explain(batch), head.embedder(batch), head.attend
    for row, index in enumerate(batch.rows.tolist()):
        item = ITEMS[index]
        words = embedded[row, : len(item.text)]
        v = words[item.start : item.stop].mean(0) if item.stop > item.start else torch.zeros(5)
        inputs = [torch.cat([word, v]) if kind is ATAELSTM else word for word in words]
        h = head.lstm.forwards(torch.stack(inputs)[None])[0][0]
        scores = [attend.score.weight[0] @ torch.tanh(attend.key.weight @ s + attend.query.weight @ v) for s in h]
        a = torch.stack(scores).softmax(0)
        r = sum(weight * state for weight, state in zip(a, h, strict=True))
        mixed = torch.tanh(attend.attended.weight @ r + attend.last.weight @ h[-1])
        torch.testing.assert_close(found.logits[row], head.classify(mixed), atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(found.attention[row, : len(item.text)], a, atol=1e-6, rtol=1e-4)
        assert not found.attention[row, len(item.text) :].any()
