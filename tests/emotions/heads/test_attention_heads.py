"""AT-LSTM and ATAE-LSTM, and the attention that they share."""

from __future__ import annotations

import pytest
import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.at_lstm import ATLSTM
from pipeline.emotions.heads.atae_lstm import ATAELSTM
from pipeline.emotions.heads.target_attention import ConcatenatedAttention, TargetAttention
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import UNKNOWN, Vocabulary
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


def test_target_moves_the_attention_but_not_that_of_the_printed_equation() -> None:
    torch.manual_seed(0)
    h, mask = torch.randn(2, 6, 4), torch.ones(2, 6, dtype=torch.bool)
    v, other = torch.randn(2, 2, 3)
    added, printed = TargetAttention(4, 3), ConcatenatedAttention(4, 3)
    assert not torch.allclose(added(h, h[:, -1], v, mask)[1], added(h, h[:, -1], other, mask)[1], atol=1e-3)
    for found, expected in zip(printed(h, h[:, -1], v, mask), printed(h, h[:, -1], other, mask), strict=True):
        torch.testing.assert_close(found, expected)


def test_scores_of_the_printed_attention_differ_by_one_number_for_all_tokens() -> None:
    torch.manual_seed(0)
    printed = ConcatenatedAttention(4, 3).double()
    h, v, other = torch.randn(1, 6, 4).double(), torch.randn(1, 3).double(), torch.randn(1, 3).double()
    scores = [printed.score(torch.tanh(printed.meet(h, target)))[0, :, 0] for target in (v, other)]
    shift = scores[0] - scores[1]
    assert shift.abs().min() > 1e-3
    torch.testing.assert_close(shift, shift[:1].expand(6))
    first, second = printed.score.weight[0, :4], printed.score.weight[0, 4:]
    constant = second @ torch.tanh(printed.query.weight @ v[0])
    torch.testing.assert_close(scores[0], torch.tanh(h[0] @ printed.key.weight.T) @ first + constant)


def test_printed_attention_teaches_the_target_nothing() -> None:
    torch.manual_seed(0)
    printed = ConcatenatedAttention(4, 3).double()
    h, v = torch.randn(2, 6, 4).double(), torch.randn(2, 3).double().requires_grad_()
    out, attention = printed(h, h[:, -1], v, torch.ones(2, 6, dtype=torch.bool))
    (out.pow(2).sum() + (attention * torch.arange(6)).sum()).backward()
    gradients = (v.grad, printed.query.weight.grad, printed.score.weight.grad[:, 4:])
    assert all(gradient.abs().max() < 1e-12 for gradient in gradients)
    assert printed.score.weight.grad[:, :4].abs().max() > 1e-3


@pytest.mark.parametrize(("kind", "sees_target"), [(ATLSTM, False), (ATAELSTM, True)])
def test_with_the_printed_attention_a_target_counts_only_where_the_lstm_reads_it(
    kind: type[ATLSTM] | type[ATAELSTM], sees_target: bool
) -> None:
    """Of one text, without a mark on the mentions."""
    items = [Target("雨后松果园开门", 2, 5, "松果园"), Target("雨后松果园开门", 0, 1, "雨")]
    vocabulary = Vocabulary.build((item.text for item in items), min_count=1)
    [batch] = BatchLoader(items, vocabulary).epoch()
    torch.manual_seed(0)
    embedder = TokenEmbedding(len(vocabulary), 5, marks_target=False)
    first, second = kind(embedder, HeadConfig(hidden_dim=4, at_attention="concatenated")).eval()(batch)
    assert torch.allclose(first, second, atol=1e-6) != sees_target


@pytest.mark.parametrize("kind", [ATLSTM, ATAELSTM])
def test_table_gives_a_target_its_vector_whatever_the_context_and_all_unseen_ones_share_one(
    kind: type[ATLSTM] | type[ATAELSTM],
) -> None:
    items = [Target("人人爱茶", 3, 4, name) for name in ("茶", "松果", "松果园", "银杏", "ＴＥＡ", "tea")]
    vocabulary = Vocabulary.build((item.text for item in items), min_count=1)
    aspects = Vocabulary(["茶", "松果", "tea"])
    [batch] = BatchLoader(items, vocabulary, aspects=aspects).epoch()
    assert batch.aspects.tolist() == [2, 3, UNKNOWN, UNKNOWN, 4, 4]
    torch.manual_seed(0)
    config = HeadConfig(hidden_dim=4, aspect="table")
    head = kind(TokenEmbedding(len(vocabulary), 5), config, n_aspects=len(aspects)).eval()
    assert not head.aspects.weight[UNKNOWN].any()
    tea, pine, *unseen, wide, narrow = head(batch)
    assert torch.equal(*unseen)
    assert torch.equal(wide, narrow)
    assert not torch.allclose(tea, pine, atol=1e-5)
    assert not torch.allclose(tea, unseen[0], atol=1e-5)


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
