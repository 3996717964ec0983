from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pipeline.entities.relevance.matchers.losses import pair_loss
from pipeline.entities.relevance.matchers.measures import MEASURES

ENCODINGS = hnp.arrays(np.float64, (2, 4), elements=st.floats(-1, 1, width=32))


def by_numpy(name: str, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return distance and similarity as the papers print them."""
    if name == "exp_l1":
        distance = float(sum(abs(x - y) for x, y in zip(a, b, strict=True)))
    elif name == "euclidean":
        distance = float(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5)
    else:
        cosine = float(a @ b / max(1e-8, np.linalg.norm(a) * np.linalg.norm(b)))
        return 1 - cosine, (1 + cosine) / 2
    return distance, float(np.exp(-distance))


@pytest.mark.parametrize("name", MEASURES)
@given(pair=ENCODINGS)
def test_distance_and_similarity_are_the_printed_ones_and_each_gives_the_other(name: str, pair: np.ndarray) -> None:
    if name == "cosine" and (np.linalg.norm(pair, axis=1) < 1e-3).any():
        return
    measure, (left, right) = MEASURES[name], torch.tensor(pair)[:, None]
    distance, similarity = by_numpy(name, *pair)
    logit = measure.to_logit(measure.distance(left, right))
    assert measure.distance(left, right).item() == pytest.approx(distance, abs=1e-9)
    assert logit.sigmoid().item() == pytest.approx(similarity, abs=2e-6)
    assert measure.of_logit(logit).item() == pytest.approx(distance, abs=2e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_equal_and_empty_encodings_are_finite_with_finite_gradients(name: str) -> None:
    for pair in (torch.ones(2, 1, 3), torch.zeros(2, 1, 3), torch.tensor([[[1.0, 0, 0]], [[0.0, 0, 0]]])):
        encodings = pair.clone().requires_grad_()
        logit = MEASURES[name].to_logit(MEASURES[name].distance(encodings[0], encodings[1]))
        logit.sum().backward()
        assert torch.isfinite(logit).all()
        assert encodings.grad is not None
        assert torch.isfinite(encodings.grad).all()


@pytest.mark.parametrize("name", MEASURES)
def test_contrastive_loss_of_the_distance_as_printed(name: str) -> None:
    """1/(2N) sum y d^2 + (1 - y) max(0, margin - d)^2, and its gradient, straight from the encodings."""
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(2, 6, 5)) * 0.3
    labels, margin = np.array([1.0, 1, 0, 0, 0, 0.5]), 1.1
    terms = []
    for a, b, y in zip(left, right, labels, strict=True):
        d = by_numpy(name, a, b)[0]
        terms.append(y * d**2 + (1 - y) * max(0.0, margin - d) ** 2)
    expected = sum(terms) / (2 * len(terms))

    measure, a = MEASURES[name], torch.tensor(left, requires_grad=True)
    logits = measure.to_logit(measure.distance(a, torch.tensor(right)))
    value = pair_loss("contrastive_distance", logits, torch.tensor(labels), margin=margin, distance_of=measure.of_logit)
    assert value.item() == pytest.approx(expected, rel=1e-6)
    (found,) = torch.autograd.grad(value, a)
    d, y = measure.distance(a, torch.tensor(right)), torch.tensor(labels)
    (wanted,) = torch.autograd.grad(((y * d**2 + (1 - y) * (margin - d).clamp(min=0) ** 2).sum() / 12), a)
    torch.testing.assert_close(found, wanted)


def test_ours_is_twice_the_printed_loss_where_the_distance_is_the_same() -> None:
    logits, labels = torch.tensor([0.3, -1.0]), torch.tensor([1.0, 0.0])
    printed = pair_loss("contrastive_distance", logits, labels, margin=2.0, distance_of=MEASURES["exp_l1"].of_logit)
    torch.testing.assert_close(pair_loss("contrastive", logits, labels, margin=2.0), 2 * printed)
