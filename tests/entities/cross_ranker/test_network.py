"""Losses by hand, batches of whole articles, and scores that do not depend on padding."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pipeline.config import CrossConfig
from pipeline.entities.cross_ranker.batches import ArticleBatches, LabelledPassages, collate
from pipeline.entities.cross_ranker.inputs import Passage, PassageBuilder
from pipeline.entities.cross_ranker.network import LOSSES, CrossNetwork, listwise_loss
from pipeline.nn.encoders import encoder_folder, load_encoder
from pipeline.nn.tokenisers import PieceTokeniser
from tests.support.cross_articles import documents, training_lists

LISTS = training_lists(documents())


def passages(tokeniser: PieceTokeniser, config: CrossConfig, index: int) -> list[Passage]:
    builder = PassageBuilder(tokeniser, max_tokens=64)
    article = LISTS[index].article
    return [builder.joint(article)] if config.name == "pooled" else builder.marked(article)


@pytest.fixture(scope="module")
def network(config: CrossConfig, tokeniser: PieceTokeniser) -> CrossNetwork:
    torch.manual_seed(0)
    return CrossNetwork(load_encoder(encoder_folder(config.encoder.name), n_tokens=len(tokeniser)), config).eval()


def test_listwise_loss_by_hand() -> None:
    logits, articles = torch.tensor([1.0, 0.0, 2.0, 5.0]), torch.tensor([0, 0, 1, 2])
    labels = torch.tensor([1.0, 0.0, 1.0, 0.0])  # the third article has no gold entity
    expected = (math.log(1 + math.exp(-1.0)) + 0.0) / 2
    assert float(listwise_loss(logits, labels, articles)) == pytest.approx(expected, abs=1e-6)
    two_gold = listwise_loss(torch.zeros(4), torch.tensor([1.0, 1.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64))
    assert float(two_gold) == pytest.approx(math.log(4), abs=1e-6)


def test_listwise_loss_does_not_compare_articles() -> None:
    labels, articles = torch.tensor([1.0, 0.0, 1.0, 0.0]), torch.tensor([0, 0, 1, 1])
    logits = torch.tensor([1.0, -1.0, 0.5, 0.0])
    shifted = logits + torch.tensor([0.0, 0.0, 9.0, 9.0])
    difference = listwise_loss(logits, labels, articles) - listwise_loss(shifted, labels, articles)
    assert float(difference) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_teach_every_trained_weight(network: CrossNetwork, tokeniser: PieceTokeniser, loss: str) -> None:
    config = CrossConfig(name="pooled" if network.multiplies else "encoder")
    found = passages(tokeniser, config, 0)
    batch = collate(found, [0] * len(found), padding=0, labels=LISTS[0].labels)
    assert batch.labels is not None
    network.zero_grad()
    LOSSES[loss](network(batch), batch.labels, batch.articles).backward()
    without = [name for name, weight in network.named_parameters() if weight.grad is None]
    assert without == []


def test_scores_do_not_depend_on_batch_mates(
    network: CrossNetwork, tokeniser: PieceTokeniser, config: CrossConfig
) -> None:
    found = [passage for index in range(4) for passage in passages(tokeniser, config, index)]
    long = passages(tokeniser, config, 5)[0]
    long = Passage(np.concatenate([long.ids, np.full(20, 7)]), long.second, long.mentions[:1])
    with torch.inference_mode():
        alone = torch.cat([network(collate([passage], [0], padding=0)) for passage in found])
        together = network(collate([*found, long], list(range(len(found) + 1)), padding=0))
    torch.testing.assert_close(together[:-1], alone, rtol=1e-4, atol=1e-5)
    assert len(together) == len(alone) + 1


def test_batches_hold_whole_articles_with_other_draws_each_epoch(tokeniser: PieceTokeniser) -> None:
    builder = PassageBuilder(tokeniser, max_tokens=64)
    articles = [LabelledPassages(builder.marked(part.article), part.labels) for part in LISTS[:5]]
    batches = ArticleBatches(articles, padding=0, batch_size=2, n_negatives=1, seed=3)
    epochs = [list(batches.epoch(number)) for number in range(4)]
    assert len(batches) == 3
    for batch in (batch for epoch in epochs for batch in epoch):
        assert batch.labels is not None
        for article in range(int(batch.articles.max()) + 1):
            labels = batch.labels[batch.articles == article]
            assert (len(labels), int(labels.sum())) == (2, 1)
    assert [len(epoch) for epoch in epochs] == [3] * 4
    again = list(batches.epoch(0))
    assert all(torch.equal(left.tokens, right.tokens) for left, right in zip(epochs[0], again, strict=True))
    assert len({tuple(batch.tokens.flatten().tolist()) for epoch in epochs for batch in epoch}) > 3
