"""Matchers once more, in NumPy and loops over tokens: the equations as their papers print them."""

from __future__ import annotations

import numpy as np
from torch import nn

Weights = dict[str, np.ndarray]


def weights_of(network: nn.Module) -> Weights:
    """Return weights and buffers by name, in double precision."""
    return {name: value.detach().double().numpy() for name, value in network.state_dict().items()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm_states(weights: Weights, name: str, inputs: np.ndarray) -> np.ndarray:
    """Run an LSTM over inputs (n_tokens, dim); torch's order of gates: input, forget, cell, output."""
    w_in, w_state = weights[f"{name}.weight_ih_l0"], weights[f"{name}.weight_hh_l0"]
    bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
    size = w_state.shape[1]
    state, cell, states = np.zeros(size), np.zeros(size), []
    for x in inputs:
        i, f, g, o = np.split(w_in @ x + w_state @ state + bias, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        states.append(state)
    return np.array(states).reshape(-1, size)


def gru_states(weights: Weights, name: str, inputs: np.ndarray) -> np.ndarray:
    """Run a GRU over inputs (n_tokens, dim); torch's order of gates: reset, update, new."""
    w_in, w_state = weights[f"{name}.weight_ih_l0"], weights[f"{name}.weight_hh_l0"]
    b_in, b_state = weights[f"{name}.bias_ih_l0"], weights[f"{name}.bias_hh_l0"]
    size = w_state.shape[1]
    state, states = np.zeros(size), []
    for x in inputs:
        (xr, xz, xn), (hr, hz, hn) = np.split(w_in @ x + b_in, 3), np.split(w_state @ state + b_state, 3)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        state = (1 - z) * np.tanh(xn + r * hn) + z * state
        states.append(state)
    return np.array(states).reshape(-1, size)


CELLS = {"lstm": lstm_states, "gru": gru_states}


def both_ways(weights: Weights, name: str, inputs: np.ndarray, cell: str) -> np.ndarray:
    """Return the states of both directions side by side, (n_tokens, 2 * hidden)."""
    there = CELLS[cell](weights, f"{name}.forwards", inputs)
    back = CELLS[cell](weights, f"{name}.backwards", inputs[::-1])[::-1]
    return np.concatenate([there, back], axis=1)


def aligned(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Describe each left token by the right ones, one softmax at a time; zeros where there are none."""
    out = np.zeros_like(left)
    for i, a in enumerate(left):
        powers = np.array([np.exp(a @ b) for b in right])
        for power, b in zip(powers, right, strict=True):
            out[i] += power / powers.sum() * b
    return out
