from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from pipeline.config import HeadConfig
from pipeline.emotions.heads.text_cnn import TextCNN, window_starts
from pipeline.errors import ConfigError
from pipeline.nn.batching import Batch, BatchLoader
from pipeline.nn.layers import TokenEmbedding, masked_max
from pipeline.nn.vocab import Vocabulary
from pipeline.registry import HEADS, resolve
from pipeline.schema import Target

DOCUMENT_HEADS = [name for name in HEADS if not resolve(HEADS, name, kind="head").uses_target]


def test_pooled_features_equal_a_loop_over_windows() -> None:
    torch.manual_seed(0)
    head = TextCNN(TokenEmbedding(2, 5), HeadConfig(filter_sizes=[2, 4], n_filters=3))
    for convolve in head.convolutions:
        nn.init.constant_(convolve.bias, 1.0)  # so that padding would answer too, were it looked at
    lengths = [7, 4, 3, 1, 0]
    mask = torch.arange(8) < torch.tensor(lengths)[:, None]
    embedded = torch.randn(5, 8, 5)
    found = head.pool(embedded, mask)
    assert found.shape == (5, 6)
    for row, length in enumerate(lengths):
        expected = []
        for convolve, size in zip(head.convolutions, (2, 4), strict=True):
            text = torch.cat([embedded[row, :length], torch.zeros(max(0, size - length), 5)])
            windows = [text[start : start + size] for start in range(len(text) - size + 1)] if length else []
            for weight, bias in zip(convolve.weight, convolve.bias, strict=True):
                answers = [torch.relu((weight * window.T).sum() + bias) for window in windows]
                expected.append(max(answers) if answers else torch.tensor(0.0))
        torch.testing.assert_close(found[row], torch.stack(expected))


def test_windows_start_where_they_fit() -> None:
    mask = torch.arange(5) < torch.tensor([5, 3, 2, 0])[:, None]
    assert window_starts(mask, 3).sum(1).tolist() == [3, 1, 1, 0]
    assert window_starts(mask, 1).equal(mask)


def test_maximum_is_over_what_is_kept_and_zero_of_nothing() -> None:
    states = torch.tensor([[[-3.0], [-1.0], [7.0]], [[1.0], [2.0], [3.0]]], requires_grad=True)
    highest = masked_max(states, torch.tensor([[True, True, False], [False, False, False]]))
    assert highest.tolist() == [[-1.0], [0.0]]
    highest.sum().backward()
    assert states.grad.tolist() == [[[0.0], [1.0], [0.0]], [[0.0], [0.0], [0.0]]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter_sizes": []}, "head.filter_sizes must name at least one size"),
        ({"filter_sizes": [3, 0]}, "head.filter_sizes must lie between 1 and 64, got 0"),
        ({"n_filters": 0}, "head.n_filters must lie"),
        ({"bigram_buckets": -1}, "head.bigram_buckets must lie"),
        ({"sentence_tokens": 0}, "head.sentence_tokens must lie"),
        ({"n_layers": 0}, "head.n_layers must lie"),
        ({"n_heads": 0}, "head.n_heads must lie"),
    ],
)
def test_sizes_out_of_range_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        HeadConfig(**options)


def one_text_two_targets() -> tuple[Batch, Vocabulary]:
    text = "松果园对面是银杏书店"
    items = [Target(text, *span, text[slice(*span)], mentions=(span,)) for span in ((0, 3), (6, 10))]
    vocabulary = Vocabulary.build([text], min_count=1)
    [batch] = BatchLoader(items, vocabulary).epoch()
    return batch, vocabulary


def test_the_document_baselines_are_registered() -> None:
    assert {"text_cnn", "text_rnn", "text_rcnn", "fast_text", "han", "char_cnn", "transformer"} <= set(DOCUMENT_HEADS)


@pytest.mark.parametrize("name", DOCUMENT_HEADS)
def test_document_baselines_do_not_look_at_the_target(name: str) -> None:
    batch, vocabulary = one_text_two_targets()
    torch.manual_seed(1)
    embedder = TokenEmbedding(len(vocabulary), 6, marks_target=False)
    head = resolve(HEADS, name, kind="head")(embedder, HeadConfig(hidden_dim=5)).eval()
    logits = head(batch)
    assert torch.allclose(logits[0], logits[1], atol=1e-6)
    other = replace(batch, tokens=batch.tokens.flip(1) if name != "fast_text" else batch.tokens.roll(3, 1))
    assert not torch.allclose(head(other), logits, atol=1e-5)
