from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import HeadConfig
from pipeline.emotions.heads.han import HAN
from pipeline.emotions.heads.sentences import LONGEST_SENTENCE, SentenceGrid
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Target


@given(
    st.lists(st.lists(st.integers(1, 9), max_size=5), min_size=1, max_size=4),
    st.integers(1, 10),
    st.integers(0, 3),
)
def test_every_token_stands_in_the_piece_of_its_sentence(lengths: list[list[int]], longest: int, padding: int) -> None:
    width = max(1, *(sum(row) for row in lengths)) + padding
    sentences, mask = torch.zeros((len(lengths), width), dtype=torch.long), torch.zeros((len(lengths), width)).bool()
    for row, parts in enumerate(lengths):
        numbers = [3 * number for number, length in enumerate(parts) for _ in range(length)]  # gaps do not matter
        sentences[row, : len(numbers)], mask[row, : len(numbers)] = torch.tensor(numbers, dtype=torch.long), True
    tokens = torch.arange(1, width + 1).float().expand(len(lengths), -1)
    grid = SentenceGrid.of(sentences, mask, longest=longest)
    laid = grid.lay_out(tokens[..., None])[..., 0]
    for row, parts in enumerate(lengths):
        expected, start = [], 1
        for length in parts:
            words = list(range(start, start + length))
            expected += [words[i : i + longest] for i in range(0, length, longest)]
            start += length
        assert [laid[row, i][grid.mask[row, i]].tolist() for i in range(len(expected))] == expected
        assert not grid.mask[row, len(expected) :].any()
    assert not laid[~grid.mask].any()
    assert torch.equal(grid.take_back(laid), tokens * mask)


def test_batches_tell_the_sentence_of_each_token() -> None:
    items = [
        Target("雨停了。松果园!\n茶香", 4, 7, "松果园"),
        Target("他说“好。茶香”茶", 0, 0, ""),
        Target("", 0, 0, ""),
    ]
    [batch] = BatchLoader(items, Vocabulary([])).epoch()
    by_row = dict(zip(batch.rows.tolist(), batch.sentences.tolist(), strict=True))
    assert by_row[0] == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]  # a line break is no token
    assert by_row[1] == [0] * 10  # a quotation stays whole
    [cut] = BatchLoader(items[:1], Vocabulary([]), max_tokens=5).epoch()
    assert cut.sentences.tolist() == [[0, 1, 1, 1, 1]]


@pytest.mark.parametrize("sentences", ["fixed", "marks"])
def test_where_a_sentence_ends_matters_to_han_where_it_is_asked_to_look(sentences: str) -> None:
    """The mark is an unknown token, a comma in the one text and a full stop in the other."""
    vocabulary = Vocabulary(list("雨停了松果园茶香"))
    items = [Target(f"雨停了{mark}松果园茶香", 0, 0, "") for mark in ",。"]
    [batch] = BatchLoader(items, vocabulary).epoch()
    torch.manual_seed(0)
    config = HeadConfig(hidden_dim=4, sentences=sentences)  # type: ignore[arg-type]
    first, second = HAN(TokenEmbedding(len(vocabulary), 5), config).eval()(batch)
    assert torch.allclose(first, second, atol=1e-6) == (sentences == "fixed")


def test_a_text_without_marks_is_not_laid_out_at_the_square_of_its_length() -> None:
    """Of two texts, one is a single sentence of 1,000 tokens, one has 500 sentences."""
    vocabulary = Vocabulary(["茶"])
    [batch] = BatchLoader(
        [Target("茶" * 1000, 0, 0, ""), Target("茶。" * 500, 0, 0, "")], vocabulary, max_tokens=1000
    ).epoch()
    grid = SentenceGrid.of(batch.sentences, batch.mask, longest=LONGEST_SENTENCE)
    assert grid.mask.shape == (2, 500, LONGEST_SENTENCE)
