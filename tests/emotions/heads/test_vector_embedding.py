from __future__ import annotations

import pytest
import torch

from pipeline.emotions.heads.vector_embedding import VectorEmbedding
from pipeline.nn.batching import Batch, BatchLoader
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target

VOCABULARY = Vocabulary(["松", "果"])
VECTORS = torch.tensor([[0.0, 0.0], [9.0, 8.0], [1.0, 2.0], [3.0, 4.0]])


@pytest.fixture
def batch() -> Batch:
    items = [Target("松果天", 1, 2, "果", mentions=((1, 2),)), Target("松", 0, 0, "")]
    [found] = BatchLoader(items, VOCABULARY).epoch()
    return found


def rows(batch: Batch, states: torch.Tensor) -> list[list[list[float]]]:
    return [states[row].tolist() for row in batch.rows.argsort()]


@pytest.mark.parametrize("mode", ["static", "fine_tuned"])
def test_tokens_get_their_vectors(batch: Batch, mode: str) -> None:
    embed = VectorEmbedding(VECTORS, mode=mode, marks_target=False)
    assert embed.dim == 2
    assert rows(batch, embed(batch)) == [[[1, 2], [3, 4], [9, 8]], [[1, 2], [0, 0], [0, 0]]]


def test_two_channels_stand_side_by_side_and_one_of_them_learns(batch: Batch) -> None:
    embed = VectorEmbedding(VECTORS, mode="two_channel", marks_target=False)
    assert embed.dim == 4
    assert rows(batch, embed(batch))[0][0] == [1, 2, 1, 2]
    assert [name for name, _ in embed.named_parameters()] == ["tuned.weight"]
    embed(batch).sum().backward()
    assert embed.tuned.weight.grad[2].tolist() == [2, 2]  # "松" occurs twice
    assert not embed.tuned.weight.grad[0].any()


def test_mentions_are_marked(batch: Batch) -> None:
    embed = VectorEmbedding(VECTORS, mode="static")
    plain = VectorEmbedding(VECTORS, mode="static", marks_target=False)
    torch.testing.assert_close(embed(batch) - plain(batch), embed.mark * batch.mentions[..., None])
    assert batch.mentions.sum() == 1


@pytest.mark.parametrize("mode", ["static", "fine_tuned", "two_channel"])
def test_vectors_given_are_not_shared(batch: Batch, mode: str) -> None:
    given = VECTORS.clone()
    embed = VectorEmbedding(given, mode=mode)
    before = embed(batch)
    given.zero_()
    assert torch.equal(embed(batch), before)
