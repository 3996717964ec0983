"""Every target head against its printed equation in NumPy, for every value of its options, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pipeline.config import HeadConfig
from pipeline.nn.batching import BatchLoader, aspect_of
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import UNKNOWN, Vocabulary
from pipeline.registry import HEADS, resolve
from pipeline.schema import Target
from tests.emotions.heads.numpy_forms import Array, array, layer_norm, linear, read, softmax

ITEMS = [
    Target("雨后松果园开门", 2, 5, "松果园", mentions=((2, 5),)),
    Target("人人爱茶", 3, 4, "茶", mentions=((3, 4),)),
    Target("松果", 0, 2, "松果", mentions=((0, 2),)),
    Target("园里开门人人爱", 0, 1, "园", mentions=((0, 1),)),
    Target("今天下雨", 0, 0, "松果"),
]
VOCABULARY = Vocabulary.build((item.text for item in ITEMS), min_count=1)
ASPECTS = Vocabulary.of_tokens((aspect_of(item) for item in ITEMS[:3]), min_count=1)


class Row:
    """One text: words w (n, dim), the target's place, and the mean of its words' vectors."""

    def __init__(self, words: Array, item: Target) -> None:
        self.w, self.l, self.r, self.name = words, item.start, item.stop, item.name
        self.target = words[self.l : self.r]
        self.v = self.target.mean(0) if len(self.target) else np.zeros(words.shape[1])


def lstm(head: Any, row: Row, config: HeadConfig) -> Array:
    return read(head.lstm, row.w)[1]


def td_lstm(head: Any, row: Row, config: HeadConfig) -> Array:
    f, b = read(head.lstm.left, row.w[: row.r])[1], read(head.lstm.right, row.w[row.l :][::-1])[1]
    return {"concatenation": np.concatenate([f, b]), "sum": f + b, "average": (f + b) / 2}[config.td_states]


def tc_lstm(head: Any, row: Row, config: HeadConfig) -> Array:
    row.w = np.array([np.concatenate([word, row.v]) for word in row.w])
    return td_lstm(head, row, config)


def at_lstm(head: Any, row: Row, config: HeadConfig, *, reads_target: bool = False) -> Array:
    v = row.v
    if config.aspect == "table":
        names = list(ASPECTS.tokens)
        v = array(head.aspects.weight)[UNKNOWN + 1 + names.index(row.name) if row.name in names else UNKNOWN]
    words = np.array([np.concatenate([word, v]) for word in row.w]) if reads_target else row.w
    h, last = read(head.lstm, words)
    attend, w = head.attend, array(head.attend.score.weight)[0]
    keys, query = linear(attend.key, h), linear(attend.query, v)
    if config.at_attention == "concatenated":
        scores = np.array([w @ np.tanh(np.concatenate([key, query])) for key in keys])
    else:
        scores = np.array([w @ np.tanh(key + query) for key in keys])
    return np.tanh(linear(attend.attended, softmax(scores) @ h) + linear(attend.last, last))


def atae_lstm(head: Any, row: Row, config: HeadConfig) -> Array:
    return at_lstm(head, row, config, reads_target=True)


def ian(head: Any, row: Row, config: HeadConfig) -> Array:
    c, t = read(head.context_lstm, row.w)[0], read(head.target_lstm, row.target)[0]

    def attended(states: Array, other: Array, layer: Any) -> Array:
        query = other.mean(0) if len(other) else np.zeros(other.shape[1])
        if not len(states):
            return np.zeros(states.shape[1])
        scores = [np.tanh(h @ array(layer.weight) @ query + array(layer.bias)[0]) for h in states]
        return softmax(np.array(scores)) @ states

    pair = [attended(c, t, head.context_attention), attended(t, c, head.target_attention)]
    return np.tanh(linear(head.mix, np.concatenate(pair)))


def af_lstm(head: Any, row: Row, config: HeadConfig) -> Array:
    (h, last), s = read(head.lstm, row.w), linear(head.target, row.v)
    dim, sign = len(s), -1 if config.af_operator == "convolution" else 1

    def norm(layer: Any, x: Array) -> Array:
        if config.af_normalise == "batch":
            scale = array(layer.weight) / np.sqrt(array(layer.running_variance) + 1e-5)
            return (x - array(layer.running_mean)) * scale + array(layer.bias)
        return layer_norm(layer, x) if config.af_normalise == "layer" else x

    def fuse(a: Array, b: Array) -> Array:
        return np.array([sum(a[j] * b[(k + sign * j) % dim] for j in range(dim)) for k in range(dim)])

    normed = norm(head.normalise_target, s)
    m = np.array([fuse(state, normed) for state in norm(head.normalise_context, h)])
    a = softmax(linear(head.score, np.tanh(linear(head.key, m)))[:, 0])
    return np.tanh(linear(head.attended, a @ h) + linear(head.last, last))


FORMS = {form.__name__: form for form in (lstm, td_lstm, tc_lstm, at_lstm, atae_lstm, ian, af_lstm)}
"""Features before the last linear layer."""
DEEP = {"recurrent_layers": 2, "directions": "both"}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in FORMS),
    *((name, DEEP) for name in ("lstm", "at_lstm", "atae_lstm", "ian", "af_lstm")),
    *((name, {"td_states": way}) for name in ("td_lstm", "tc_lstm") for way in ("sum", "average")),
    ("td_lstm", {"recurrent_layers": 2}),
    *((name, {"aspect": "table"}) for name in ("at_lstm", "atae_lstm")),
    *((name, {"at_attention": "concatenated"}) for name in ("at_lstm", "atae_lstm")),
    *((name, {"aspect": "table", "at_attention": "concatenated"}) for name in ("at_lstm", "atae_lstm")),
    *(
        ("af_lstm", {"af_operator": operator, "af_normalise": norm})
        for operator in ("convolution", "correlation")
        for norm in ("layer", "batch", "none")
    ),
]


def test_every_target_head_of_a_paper_has_a_form() -> None:
    """Pair classifies the states of a pre-trained encoder; test_encoder_states.py has it."""
    target_heads = {name for name in HEADS if resolve(HEADS, name, kind="head").uses_target}
    assert target_heads - {"pair"} <= set(FORMS)


@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=["-".join([name, *map(str, options.values())]) for name, options in CASES]
)
def test_head_equals_its_printed_equation(name: str, options: dict[str, Any]) -> None:
    [batch] = BatchLoader(ITEMS, VOCABULARY, aspects=ASPECTS).epoch()
    torch.manual_seed(0)
    config = HeadConfig(hidden_dim=4, dropout=0.0, **options)
    kind = resolve(HEADS, name, kind="head")
    sizes = {"n_aspects": len(ASPECTS)} if kind.takes_aspects else {}
    head = kind(TokenEmbedding(len(VOCABULARY), 5), config, **sizes)
    with torch.no_grad():
        head(batch)  # in training: running averages move
        head.eval()
        logits, embedded = array(head(batch)), array(head.embedder(batch))
    for row, index in enumerate(batch.rows.tolist()):
        item = ITEMS[index]
        features = FORMS[name](head, Row(embedded[row, : len(item.text)], item), config)
        np.testing.assert_allclose(logits[row], linear(head.classify, features), atol=1e-5, rtol=1e-4)
