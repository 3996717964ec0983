"""What every registered matcher must do, with each of its options; a new line in MATCHERS is tested here at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from pipeline.config import MaLSTMConfig, RelevanceConfig, SoftAlignConfig
from pipeline.entities.relevance.matchers.base import Matcher, PairBatch, Side
from pipeline.entities.relevance.matchers.losses import pair_loss
from pipeline.registry import MATCHERS, resolve

N_TOKENS = 20
CONFIG = RelevanceConfig(embedding_dim=8, hidden_dim=6, dropout=0.3)
LOSSES = ("bce", "mse", "contrastive")
TYPICAL = ([2, 3, 4, 5], [6, 7, 3, 4, 8])
EDGES = {
    "no left": ([], [6, 7]),
    "no right": ([2, 3], []),
    "nothing": ([], []),
    "one token each": ([2], [3]),
    "the same": ([2, 3, 4], [2, 3, 4]),
}
# Texts that share their tokens belong together.
PAIRS = [([2, 3, 4], [4, 3, 2, 5]), ([6, 7, 8], [8, 6]), ([9, 10], [10, 9, 9]), ([11, 12, 13, 14], [14, 12])]
PAIRS += [([2, 3, 4], [8, 15]), ([6, 7, 8], [13, 12, 16]), ([9, 10], [3, 2, 4]), ([11, 12, 13, 14], [7, 9, 17])]
LABELS = [1.0] * 4 + [0.0] * 4

OPTIONS: dict[str, tuple[str, type, dict[str, object]]] = {
    "malstm euclidean": ("malstm", MaLSTMConfig, {"similarity": "euclidean"}),
    "malstm cosine": ("malstm", MaLSTMConfig, {"similarity": "cosine"}),
    "malstm linear": ("malstm", MaLSTMConfig, {"similarity": "linear"}),
    "malstm gru": ("malstm", MaLSTMConfig, {"cell": "gru"}),
    "malstm deep": ("malstm", MaLSTMConfig, {"n_layers": 2}),
    "malstm untied": ("malstm", MaLSTMConfig, {"tied": False, "n_layers": 2}),
    "soft_align as printed": ("soft_align", SoftAlignConfig, {"activation": "tanh", "batch_norm": False}),
    "soft_align gru": ("soft_align", SoftAlignConfig, {"cell": "gru", "n_hidden_layers": 2}),
    "soft_align less compared": ("soft_align", SoftAlignConfig, {"differences": False, "pooling": "mean"}),
    "soft_align max": ("soft_align", SoftAlignConfig, {"pooling": "max", "composition": "feed_forward"}),
    "soft_align decomposable": (
        "soft_align",
        SoftAlignConfig,
        {"encoding": "feed_forward", "composition": "feed_forward", "differences": False, "pooling": "sum"},
    ),
}
"""A name for the test, and the options that differ from the defaults."""
NAMES = [*MATCHERS, *OPTIONS]
WITHOUT_DISTANCE = [name for name in NAMES if name.startswith("soft_align") or name == "malstm linear"]

matchers = pytest.mark.parametrize("name", NAMES)
with_losses = pytest.mark.parametrize(
    ("name", "loss"),
    [
        *((name, loss) for name in MATCHERS for loss in LOSSES),
        *((name, "contrastive_distance" if name not in WITHOUT_DISTANCE else "bce") for name in OPTIONS),
    ],
)


def build(name: str, *, config: RelevanceConfig = CONFIG, seed: int = 3) -> Matcher:
    torch.manual_seed(seed)
    if name in OPTIONS:
        name, kind, values = OPTIONS[name]
        config = replace(config, **{name: kind(**values)})
    return resolve(MATCHERS, name, kind="matcher")(N_TOKENS, config)


def batch_of(*pairs: tuple[list[int], list[int]], labels: list[float] | None = None) -> PairBatch:
    left, right = (Side.of([np.array(side, dtype=np.int64) for side in sides]) for sides in zip(*pairs, strict=True))
    return PairBatch(left, right, None if labels is None else torch.tensor(labels))


def loss_of(matcher: Matcher, batch: PairBatch, loss: str = "bce") -> torch.Tensor:
    assert batch.labels is not None
    return pair_loss(loss, matcher(batch), batch.labels, margin=2.0, distance_of=matcher.distance_of)


def widen(side: Side, extra: int) -> Side:
    return Side(functional.pad(side.tokens, (0, extra)), functional.pad(side.mask, (0, extra)))


def test_both_matchers_are_registered() -> None:
    assert set(MATCHERS) >= {"malstm", "soft_align"}


@matchers
def test_one_logit_a_pair_and_similarity_is_its_sigmoid(name: str) -> None:
    matcher, batch = build(name).eval(), batch_of(TYPICAL, *PAIRS)
    logits = matcher(batch)
    assert logits.shape == (9,)
    assert logits.dtype == torch.float32
    assert len(batch) == 9
    torch.testing.assert_close(matcher.similarity(batch), logits.sigmoid())
    assert matcher.similarity(batch).std() > 0


def test_the_distance_of_malstm_is_the_same_both_ways() -> None:
    matcher, pairs = build("malstm").eval(), [TYPICAL, *PAIRS]
    exchanged = batch_of(*((right, left) for left, right in pairs))
    torch.testing.assert_close(matcher(exchanged), matcher(batch_of(*pairs)), atol=1e-6, rtol=1e-5)


@matchers
@pytest.mark.parametrize("side", ["left", "right"])
def test_extra_padding_changes_nothing(name: str, side: str) -> None:
    matcher, batch = build(name).eval(), batch_of(TYPICAL, *PAIRS)
    wider = replace(batch, **{side: widen(getattr(batch, side), 7)})
    torch.testing.assert_close(matcher(wider), matcher(batch), atol=1e-6, rtol=1e-5)


@matchers
def test_what_padding_holds_changes_nothing(name: str) -> None:
    matcher, batch = build(name).eval(), batch_of(TYPICAL, *PAIRS)
    filled = [Side(side.tokens.masked_fill(~side.mask, 5), side.mask) for side in (batch.left, batch.right)]
    torch.testing.assert_close(matcher(PairBatch(*filled)), matcher(batch), atol=1e-6, rtol=1e-5)


@matchers
def test_batch_mates_change_nothing_in_evaluation(name: str) -> None:
    matcher = build(name)
    for _ in range(3):  # running averages of a batch normalisation away from their start
        matcher(batch_of(*PAIRS))
    matcher.eval()
    alone = matcher(batch_of(TYPICAL))[0]
    together = matcher(batch_of(*EDGES.values(), TYPICAL, ([2, 3] * 20, [4, 5] * 30)))
    torch.testing.assert_close(together[len(EDGES)], alone, atol=1e-6, rtol=1e-5)


@with_losses
@pytest.mark.parametrize("case", EDGES)
def test_edges_are_finite_with_finite_gradients(name: str, loss: str, case: str) -> None:
    for label in (0.0, 1.0):
        matcher = build(name)  # in training, a batch of one
        batch = batch_of(EDGES[case], labels=[label])
        value = loss_of(matcher, batch, loss)
        assert torch.isfinite(matcher(batch)).all()
        assert torch.isfinite(value)
        value.backward()
        assert all(torch.isfinite(p.grad).all() for p in matcher.parameters() if p.grad is not None)


@with_losses
def test_every_parameter_gets_a_gradient(name: str, loss: str) -> None:
    matcher = build(name)
    loss_of(matcher, batch_of(*PAIRS, labels=LABELS), loss).backward()
    lacking = [key for key, p in matcher.named_parameters() if p.grad is None or not p.grad.any()]
    assert lacking == []


@with_losses
def test_overfits_eight_pairs(name: str, loss: str) -> None:
    matcher = build(name, config=RelevanceConfig(embedding_dim=16, hidden_dim=12, dropout=0.0))
    batch = batch_of(*PAIRS, labels=LABELS)
    optimizer = torch.optim.Adam(matcher.parameters(), lr=1e-2)
    for _ in range(120):
        value = loss_of(matcher, batch, loss)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    similarity = matcher.eval().similarity(batch)
    assert similarity[:4].min() > similarity[4:].max() + 0.3


@matchers
def test_save_and_load_are_identical(name: str) -> None:
    from safetensors.torch import load, save

    matcher, other = build(name).eval(), build(name, seed=99).eval()
    batch = batch_of(TYPICAL, *PAIRS)
    assert not torch.equal(other(batch), matcher(batch))
    other.load_state_dict(load(save(matcher.state_dict())))
    assert torch.equal(other(batch), matcher(batch))
