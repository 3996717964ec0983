"""An encoder's states as a head sees them, against the encoder run by hand on one row."""

from __future__ import annotations

import pytest
import torch

from pipeline.config import HeadConfig
from pipeline.emotions.classifier.inputs import PieceReader
from pipeline.emotions.heads.encoder_states import PAIR_TARGET_TOKENS, EncoderStates, longest_context
from pipeline.emotions.heads.pair import Pair
from pipeline.errors import ConfigError
from pipeline.nn.batching import Batch, BatchLoader
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.schema import Target
from tests.support.tiny_encoder import TOKENS, tiny_network, tiny_tokenizer

SPECIAL = SpecialIds(padding=0, unknown=1, first=2, separator=3)
READER = PieceReader(PieceTokeniser(tiny_tokenizer(), SPECIAL))
TEXT = "青禾科技今天发布nova12,青禾科技口碑很好。"
ITEMS = [
    Target(TEXT, 0, 4, "青禾科技", mentions=((0, 4), (15, 19))),
    Target("银杏出版社上市", 0, 5, "银杏出版社", mentions=((0, 5),)),
    Target("今天很好", 0, 0, "云杉汽车"),
    Target("", 0, 0, ""),
    Target("云" * 50 + "好", 0, 50, "云" * 50, mentions=((0, 50),)),
]


@pytest.fixture(scope="module")
def states() -> EncoderStates:
    torch.manual_seed(1)
    return EncoderStates(tiny_network(), SPECIAL).eval()


@pytest.fixture(scope="module")
def batch() -> Batch:
    [found] = BatchLoader(ITEMS, READER).epoch()
    return found


def by_hand(states: EncoderStates, ids: list[int], *, first_of_second: int) -> torch.Tensor:
    segments = [int(step >= first_of_second) for step in range(len(ids))]
    output = states.encoder(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([segments]))
    return output.last_hidden_state[0]


@torch.inference_mode()
def test_contexts_are_framed_and_mentions_marked(states: EncoderStates, batch: Batch) -> None:
    found = states(batch)
    assert found.shape == (*batch.tokens.shape, 16)
    for row, index in enumerate(batch.rows.tolist()):
        ids = READER.read(ITEMS[index].text).ids
        expected = by_hand(states, [2, *ids, 3], first_of_second=len(ids) + 2)[1:-1]
        expected = expected + states.mark * batch.mentions[row, : len(ids), None]
        torch.testing.assert_close(found[row, : len(ids)], expected, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_pairs_are_framed_with_segments(states: EncoderStates, batch: Batch) -> None:
    first, found = states.pair(batch)
    for row, index in enumerate(batch.rows.tolist()):
        item = ITEMS[index]
        ids = READER.read(item.text).ids
        target = READER.read(item.text[item.start : item.stop]).ids[:PAIR_TARGET_TOKENS]
        begin = len(target) + 2
        expected = by_hand(states, [2, *target, 3, *ids, 3], first_of_second=begin)
        torch.testing.assert_close(first[row], expected[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(found[row, : len(ids)], expected[begin:-1], atol=1e-5, rtol=1e-5)
        assert not found[row, len(ids) :].any()


@torch.inference_mode()
def test_pair_head_by_hand(states: EncoderStates, batch: Batch) -> None:
    torch.manual_seed(2)
    head = Pair(states, HeadConfig(), n_classes=3).eval()
    first, found = states.pair(batch)
    row = batch.rows.tolist().index(0)
    positions = batch.mentions[row].nonzero().flatten().tolist()
    # "nova12" is three pieces, so characters and tokens part ways after it.
    assert positions == [0, 1, 2, 3, 12, 13, 14, 15]
    mean = torch.stack([found[row, i] for i in positions]).mean(0)
    expected = head.classify.weight @ torch.cat([first[row], mean]) + head.classify.bias
    torch.testing.assert_close(head(batch)[row], expected)


def test_pair_head_refuses_what_is_no_encoder() -> None:
    with pytest.raises(ConfigError, match=r"^head pair reads an encoder, want head\.embedding=encoder$"):
        Pair(TokenEmbedding(len(TOKENS), 4), HeadConfig())


def test_room_for_contexts_leaves_special_tokens_and_target() -> None:
    encoder = tiny_network()
    assert longest_context(encoder, pair=False) == 126
    assert longest_context(encoder, pair=True) == 128 - 3 - PAIR_TARGET_TOKENS


def test_encoders_without_segments_get_none(batch: Batch) -> None:
    encoder = tiny_network()
    encoder.config.type_vocab_size = 1
    encoder.embeddings.token_type_embeddings.weight.data[1] = torch.nan  # would show
    first, _ = EncoderStates(encoder, SPECIAL).eval().pair(batch)
    assert torch.isfinite(first).all()
