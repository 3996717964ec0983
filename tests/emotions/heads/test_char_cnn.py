from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from pipeline.config import HeadConfig
from pipeline.emotions.heads.char_cnn import CharCNN, pool_every
from pipeline.nn.layers import TokenEmbedding


def test_pooling_takes_every_three_steps_and_never_padding() -> None:
    states = torch.tensor([[[-5.0], [-4.0], [-6.0], [-2.0], [9.0]], [[-1.0], [9.0], [9.0], [9.0], [9.0]]])
    mask = torch.arange(5) < torch.tensor([4, 1])[:, None]
    pooled, kept = pool_every(states, mask, 3)
    assert pooled.tolist() == [[[-4.0], [-2.0]], [[-1.0], [0.0]]]
    assert kept.tolist() == [[True, True], [True, False]]


def test_features_equal_the_layers_over_one_unpadded_row() -> None:
    torch.manual_seed(0)
    head = CharCNN(TokenEmbedding(2, 5), HeadConfig(hidden_dim=4))
    for convolve in head.convolutions:
        nn.init.constant_(convolve.bias, 0.5)  # so that padding would answer too, were it looked at
    lengths = [29, 12, 4, 1, 0]
    mask = torch.arange(30) < torch.tensor(lengths)[:, None]
    embedded = torch.randn(5, 30, 5)
    found = head.features(embedded, mask)
    for row, length in enumerate(lengths[:-1]):
        states = embedded[row : row + 1, :length].transpose(1, 2)
        for layer, convolve in enumerate(head.convolutions):
            states = torch.relu(convolve(states))
            if layer < 2:
                states = functional.max_pool1d(states, 3, ceil_mode=True)
        torch.testing.assert_close(found[row], states.amax(2)[0])
    assert not found[-1].any()
