"""Every document baseline against its printed equation in NumPy, for the values of its options, row by row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.config import HeadConfig
from pipeline.nn.batching import BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import Vocabulary
from pipeline.registry import HEADS, resolve
from pipeline.schema import Target
from tests.emotions.heads.numpy_forms import Array, array, layer_norm, linear, read, softmax, steps

SENTENCES = [
    ["雨后松果园开门了。", "人人都爱!", "茶香"],
    ["松果开门\n", "园"],
    ["茶"],
    ["人人爱茶人人都爱茶香松果园开门"],
]
VOCABULARY = Vocabulary.build(("".join(text) for text in SENTENCES), min_count=1)


def text_cnn(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    features = []
    for convolve, size in zip(head.convolutions, config.filter_sizes, strict=True):
        padded = np.concatenate([x, np.zeros((max(0, size - len(x)), x.shape[1]))])
        windows = [padded[i : i + size] for i in range(len(padded) - size + 1)]
        for weight, bias in zip(array(convolve.weight), array(convolve.bias), strict=True):
            features.append(max(max(0.0, (weight.T * window).sum() + bias) for window in windows))
    return linear(head.classify, np.array(features))


def text_rnn(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    return linear(head.classify, read(head.lstm, x)[1])


def text_rcnn(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    nothing = np.zeros((1, config.hidden_dim))
    left = np.concatenate([nothing, steps(head.lstm.forwards, x)[:-1]])
    right = np.concatenate([steps(head.lstm.backwards, x[::-1])[::-1][1:], nothing])
    y = np.tanh(linear(head.mix, np.concatenate([left, x, right], axis=1)))
    return linear(head.classify, y.max(0))


def fast_text(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    vectors = list(x)
    if config.bigram_buckets:
        table = array(head.bigrams.weight)
        vectors += [table[(a * 116_049_371 + b) % config.bigram_buckets] for a, b in pairwise(ids)]
    return linear(head.classify, np.mean(vectors, axis=0))


def han(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    lengths = [len(sentence.strip("\n")) for sentence in text]
    if config.sentences == "fixed":
        lengths = [min(config.sentence_tokens, len(x) - i) for i in range(0, len(x), config.sentence_tokens)]

    def attended(rnn: Any, attention: Any, vectors: Array) -> Array:
        h = read(rnn, vectors)[0]
        return softmax(np.tanh(linear(attention.key, h)) @ array(attention.query.weight)[0]) @ h

    parts = np.split(x, np.cumsum(lengths)[:-1])
    vectors = np.array([attended(head.words, head.word_attention, part) for part in parts])
    return linear(head.classify, attended(head.sentences, head.sentence_attention, vectors))


def char_cnn(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    y = x
    for convolve, (size, pool) in zip(head.convolutions, ((7, 3), (7, 3), *[(3, 1)] * 4), strict=True):
        zeros = np.zeros((size // 2, y.shape[1]))
        padded, weight = np.concatenate([zeros, y, zeros]), array(convolve.weight)
        answers = [np.einsum("ods,sd->o", weight, padded[i : i + size]) for i in range(len(y))]
        y = np.maximum(0, np.array(answers) + array(convolve.bias))
        y = np.array([y[i : i + pool].max(0) for i in range(0, len(y), pool)])
    return linear(head.classify, np.maximum(0, linear(head.hidden, y.max(0))))


def transformer(head: Any, x: Array, ids: list[int], text: list[str], config: HeadConfig) -> Array:
    dim, d_k = config.n_heads * config.hidden_dim, config.hidden_dim
    y = linear(head.project, x)
    for position in range(len(x)):
        for i in range(dim):
            angle = position / 10_000 ** (2 * (i // 2) / dim)
            y[position, i] += np.cos(angle) if i % 2 else np.sin(angle)
    for layer in head.layers:
        q, k, v = np.split(linear(layer.attention.projection, y), 3, axis=1)
        mixed = []
        for part in (slice(n * d_k, (n + 1) * d_k) for n in range(config.n_heads)):
            weights = np.array([softmax(scores) for scores in q[:, part] @ k[:, part].T / np.sqrt(d_k)])
            mixed.append(weights @ v[:, part])
        y = layer_norm(layer.attention_norm, y + linear(layer.attention.output, np.concatenate(mixed, axis=1)))
        first, last = layer.feed_forward[0], layer.feed_forward[3]
        y = layer_norm(layer.feed_forward_norm, y + linear(last, np.maximum(0, linear(first, y))))
    return linear(head.classify, y.mean(0))


FORMS = {form.__name__: form for form in (text_cnn, text_rnn, text_rcnn, fast_text, han, char_cnn, transformer)}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in FORMS),
    *((name, {"cell": cell}) for name in ("text_rnn", "text_rcnn", "han") for cell in ("gru", "plain")),
    *((name, {"recurrent_layers": 2, "directions": "one"}) for name in ("text_rnn", "han")),
    *((name, {"recurrent_layers": 2, "cell": "gru"}) for name in ("text_rnn", "han")),
    *(("han", {"sentences": "marks", "cell": cell}) for cell in ("lstm", "gru")),
    ("fast_text", {"bigram_buckets": 0}),
    ("transformer", {"n_layers": 1, "n_heads": 3}),
]


def test_every_document_baseline_has_a_form() -> None:
    documents = {name for name in HEADS if not resolve(HEADS, name, kind="head").uses_target}
    assert documents - {"lstm"} <= set(FORMS)  # lstm stands with the heads of its paper, in test_target_oracles.py


@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=["-".join([name, *map(str, options.values())]) for name, options in CASES]
)
def test_head_equals_its_printed_equation(name: str, options: dict[str, Any]) -> None:
    [batch] = BatchLoader([Target("".join(text), 0, 0, "") for text in SENTENCES], VOCABULARY).epoch()
    torch.manual_seed(0)
    config = HeadConfig(**{"hidden_dim": 4, "n_filters": 3, "bigram_buckets": 7, "sentence_tokens": 4, **options})
    embedder = TokenEmbedding(len(VOCABULARY), 5, marks_target=False)
    head = resolve(HEADS, name, kind="head")(embedder, config).eval()
    with torch.no_grad():
        logits, embedded = array(head(batch)), array(head.embedder(batch))
    for row, index in enumerate(batch.rows.tolist()):
        ids = batch.tokens[row][batch.mask[row]].tolist()
        expected = FORMS[name](head, embedded[row, : len(ids)], ids, SENTENCES[index], config)
        np.testing.assert_allclose(logits[row], expected, atol=1e-5, rtol=1e-4)
