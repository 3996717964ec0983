"""The equations that heads share, in NumPy: loops over the steps of one unpadded row, from the weights alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from pipeline.nn.layers import MaskedRNN

Array = NDArray[np.float64]


def array(tensor: Tensor) -> Array:
    return tensor.detach().double().numpy()


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def linear(layer: nn.Linear, x: Array) -> Array:
    product = x @ array(layer.weight).T
    return product if layer.bias is None else product + array(layer.bias)


def layer_norm(layer: nn.LayerNorm, x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * array(layer.weight) + array(layer.bias)


def lstm_step(x: Array, u: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """x and u: what input and state give to the gates input, forget, cell, output."""
    i, f, g, o = np.split(x + u, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x: Array, u: Array, h: Array) -> Array:
    """Yang et al. (2016), equations 1 to 4, with z for their 1 - z."""
    (r_x, z_x, n_x), (r_u, z_u, n_u) = np.split(x, 3), np.split(u, 3)
    r, z = sigmoid(r_x + r_u), sigmoid(z_x + z_u)
    return (1 - z) * np.tanh(n_x + r * n_u) + z * h


def steps(cell: nn.RNNBase, words: Array) -> Array:
    """States (n, hidden) of one layer in one direction over words (n, dim)."""
    of_input, of_state = array(cell.weight_ih_l0), array(cell.weight_hh_l0)
    bias_input, bias_state = array(cell.bias_ih_l0), array(cell.bias_hh_l0)
    h, c, found = np.zeros(cell.hidden_size), np.zeros(cell.hidden_size), []
    for word in words:
        x, u = of_input @ word + bias_input, of_state @ h + bias_state
        if isinstance(cell, nn.LSTM):
            h, c = lstm_step(x, u, h, c)
        else:
            h = gru_step(x, u, h) if isinstance(cell, nn.GRU) else np.tanh(x + u)
        found.append(h)
    return np.array(found).reshape(len(words), cell.hidden_size)


def read(rnn: MaskedRNN, words: Array) -> tuple[Array, Array]:
    """States (n, dim) of the last layer, and the final state (dim,)."""
    states = steps(rnn.forwards, words)
    final = states[-1] if len(words) else np.zeros(states.shape[1])
    if rnn.backwards is not None:
        back = steps(rnn.backwards, words[::-1])
        final = np.concatenate([final, back[-1] if len(words) else np.zeros(back.shape[1])])
        states = np.concatenate([states, back[::-1]], axis=1)
    return (states, final) if rnn.above is None else read(rnn.above, states)
