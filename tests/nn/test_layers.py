from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pipeline.nn.batching import BatchLoader, Positions
from pipeline.nn.layers import (
    MaskedLSTM,
    TokenEmbedding,
    gather,
    last_state,
    masked_mean,
    masked_softmax,
    reverse,
    weighted_sum,
)
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

LENGTHS = [4, 1, 0, 3]
MASK = torch.arange(4) < torch.tensor(LENGTHS)[:, None]


def states() -> Tensor:
    return torch.randn(4, 4, 5, generator=torch.Generator().manual_seed(0))


def test_gather_takes_positions_and_zeroes_padding() -> None:
    x = states()
    mask = torch.tensor([[True, True], [True, False], [False, False], [True, True]])
    positions = Positions(torch.tensor([[3, 0], [0, 0], [0, 0], [2, 1]]), mask)
    found = gather(x, positions)
    assert torch.equal(found[0], x[0, [3, 0]])
    assert torch.equal(found[1, 0], x[1, 0])
    assert not found[1, 1].any()
    assert not found[2].any()
    assert torch.equal(found[3], x[3, [2, 1]])


def test_masked_mean_ignores_padding() -> None:
    x = states()
    means = masked_mean(x, MASK)
    for row, length in enumerate(LENGTHS):
        expected = x[row, :length].mean(0) if length else torch.zeros(5)
        torch.testing.assert_close(means[row], expected)


def test_masked_softmax_sums_to_one_over_what_is_kept() -> None:
    scores = states()[..., 0] * 50
    weights = masked_softmax(scores, MASK)
    assert not weights[~MASK].any()
    torch.testing.assert_close(weights.sum(1), torch.tensor([1.0, 1.0, 0.0, 1.0]))
    torch.testing.assert_close(weights[3, :3], scores[3, :3].softmax(0))


def test_weighted_sum_is_a_sum() -> None:
    x = states()
    weights = masked_softmax(x[..., 0], MASK)
    torch.testing.assert_close(weighted_sum(weights, x)[3], sum(weights[3, i] * x[3, i] for i in range(3)))


def test_reverse_turns_each_row_within_its_length() -> None:
    x = states()
    turned = reverse(x, MASK)
    assert torch.equal(turned[0], x[0].flip(0))
    assert torch.equal(turned[3, :3], x[3, :3].flip(0))


def test_last_state_is_the_state_of_the_last_token() -> None:
    x = states()
    last = last_state(x, MASK)
    assert torch.equal(last[0], x[0, 3])
    assert torch.equal(last[1], x[1, 0])
    assert not last[2].any()


@pytest.mark.parametrize("bidirectional", [False, True])
def test_lstm_equals_a_loop_over_unpadded_rows(bidirectional: bool) -> None:
    torch.manual_seed(0)
    lstm = MaskedLSTM(5, 6, bidirectional=bidirectional)
    x = states()
    found, final = lstm(x, MASK)
    assert found.shape == (4, 4, lstm.dim)
    assert not found[~MASK].any()
    assert not final[2].any()
    for row in (0, 1, 3):
        one = x[row : row + 1, : LENGTHS[row]]
        parts, ends = [lstm.forwards(one)[0][0]], [lstm.forwards(one)[0][0, -1]]
        if lstm.backwards is not None:
            back = lstm.backwards(one.flip(1))[0][0]
            parts, ends = [*parts, back.flip(0)], [*ends, back[-1]]
        torch.testing.assert_close(found[row, : LENGTHS[row]], torch.cat(parts, dim=-1))
        torch.testing.assert_close(final[row], torch.cat(ends))


def test_embedding_marks_every_mention_and_no_other_token() -> None:
    item = Target("松果好松果", 0, 2, "松果", mentions=((0, 2), (3, 5)))
    vocabulary = Vocabulary.build([item.text], min_count=1)
    [batch] = BatchLoader([item], vocabulary).epoch()
    embed = TokenEmbedding(len(vocabulary), 4)
    plain = embed.tokens(batch.tokens)
    marked = (embed(batch) - plain).abs().sum(-1) > 0
    assert marked.tolist() == [[True, True, False, True, True]]
